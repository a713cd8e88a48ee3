package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"example.com/redlock/internal/boottime"
	"example.com/redlock/internal/history"
)

// Main is the main function of a client process: it does what its Config says until its standard input
// ends. open makes the library's client. classify says of what kind an error of the library is, by its
// documentation: Unknown if it is none of them.
//
// It exits with 1 if the history could not be written in full; anything else that goes wrong is in the
// history.
func Main(open func(Config) (Locker, error), classify func(error) history.Failure) {
	if err := serve(open, classify); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func serve(open func(Config) (Locker, error), classify func(error) history.Failure) error {
	if len(os.Args) != 2 {
		return errors.New("it is started by a trial, with a Config")
	}
	var cfg Config
	if err := json.Unmarshal([]byte(os.Args[1]), &cfg); err != nil {
		return err
	}
	out, err := os.OpenFile(cfg.Out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	rec := history.NewRecorder(out, cfg.Who, func() time.Duration { return boottime.Now() - cfg.Began })
	return Run(cfg, open, classify, rec, os.Stdin)
}

// Config says what a client process does. A process gets it as its only argument: see [Config.Arg].
type Config struct {
	Who      string   // the process, "c1"
	Masters  []string // host:port of its way to each master
	Register string   // host:port of the registers that the locks protect; empty: none
	Seed     uint64
	Began    time.Duration // when the run began, by boottime.Now
	Lease    time.Duration
	MaxLease time.Duration // the longest lease of LockFor
	Keep     time.Duration // for how long locks stay with the client
	Guard    time.Duration // of masters that restarted; negative: none

	// NodeTimeout is how long a master may take to answer. 0: the library's default.
	NodeTimeout time.Duration

	Callers int           // how many goroutines take locks
	Think   time.Duration // how long a caller thinks between two visits, on average
	Out     string        // the file to which the process appends its events

	// Tell records what a library says of itself while calls are under way. Run sets it.
	Tell func(history.Event) `json:"-"`
}

// Arg returns the argument with which a client process is started to have this Config.
func (cfg Config) Arg() string {
	text, err := json.Marshal(cfg)
	if err != nil {
		panic(err) // it has no field that JSON has not
	}
	return string(text)
}
