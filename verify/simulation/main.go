// Command simulation runs the simulation of package redlock (TestSim) at scale, so that each seed can be
// replayed: the same seed has the same history, byte for byte, in any process.
//
//	go run ./verify/simulation                            20,000 seeds, on all cores
//	go run ./verify/simulation -first 20000 -seeds 1000   others
//	go run ./verify/simulation -for 1h -seeds 1000000     as many as an hour allows
//	go run ./verify/simulation -state FILE                those after the last run with FILE
//	go run ./verify/simulation -seed 17 -history FILE     one seed, and its history
//
// A seed settles the faults, what callers do, and, since the tests are built with a Go runtime that is
// changed in a few lines (edits/go.patch), all else that is random. That takes a minute or two when it is built
// for the first time. The Go distribution itself is not changed.
//
// A seed that fails is run twice more, to see that it can be replayed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.Uint64Var(&o.first, "first", 0, "the first `seed`")
	flag.Uint64Var(&o.seeds, "seeds", 20_000, "how many seeds")
	flag.DurationVar(&o.limit, "for", 0, "begin no more seeds after this `time`")
	flag.StringVar(&o.state, "state", "", "the `file` with the first seed, if it is there; once all have run, it has the next one")
	flag.IntVar(&o.workers, "j", runtime.NumCPU(), "how many processes at a time")
	seed := flag.Uint64("seed", 0, "run this `seed` alone")
	history := flag.String("history", "", "with -seed: the `file` for its history")
	flag.Parse()
	alone := false
	flag.Visit(func(f *flag.Flag) { alone = alone || f.Name == "seed" })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o, alone, *seed, *history)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simulation:", err)
		os.Exit(1)
	}
}

// options say which seeds are run.
type options struct {
	first, seeds uint64
	limit        time.Duration // 0: none
	workers      int
	state        string // a file; empty: none
}

// resume goes on from where leave left off, if it did.
func (o *options) resume() error {
	text, err := os.ReadFile(o.state)
	if o.state == "" || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	o.first, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return err
}

// leave writes down which seed is next.
func (o *options) leave(next uint64) error {
	if o.state == "" {
		return nil
	}
	return os.WriteFile(o.state, fmt.Appendln(nil, next), 0o644)
}

func run(ctx context.Context, o options, alone bool, seed uint64, history string) error {
	dir, err := os.MkdirTemp("", "simulation")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := build(ctx, ".", dir, true)
	if err != nil {
		return err
	}
	if !alone {
		if err := o.resume(); err != nil {
			return err
		}
		return p.scale(ctx, o)
	}
	out, err := p.replay(ctx, seed, history)
	os.Stdout.Write(out)
	return err
}
