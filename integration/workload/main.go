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
