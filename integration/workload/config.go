package workload

import (
	"encoding/json"
	"time"

	"example.com/redlock/internal/history"
)

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

	Locker  string        // which library, if the program has several
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
