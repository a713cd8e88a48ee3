package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/redlock/integration/trial"
	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
)

// lockers are the libraries that can be tried.
var lockers = []string{trial.Redlock, "redsync", "redsync-ff", "single"}

// compare runs the same trials with each library, a few beside each other, and prints what came of them in a
// table in Markdown. That a check fails is no error here. A trial that went wrong does not count: it is one
// in which the machine could not mend a fault, or a client failed.
func compare(ctx context.Context, cfg trial.Config, folder, seeds string, workers int) error {
	var trials []*one
	for text := range strings.SplitSeq(seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("-peers: %w", err)
		}
		for _, locker := range lockers {
			trials = append(trials, &one{locker: locker, seed: seed})
		}
	}
	ours, err := trial.Build(ctx, folder, trial.Redlock)
	if err != nil {
		return err
	}
	peers, err := trial.Build(ctx, folder, "redsync") // the same program for all of them
	if err != nil {
		return err
	}
	beside.Each(trials, workers, func(o *one) {
		cfg := cfg
		if cfg.Programs = peers; o.locker == trial.Redlock {
			cfg.Programs = ours
		}
		o.run(ctx, cfg)
	})
	sums := make([]*sum, len(lockers))
	var errs []error
	for i, locker := range lockers {
		sums[i] = &sum{broken: map[string]int{}, looked: map[string]int{}}
		for _, o := range trials {
			if o.locker == locker && o.err == nil {
				sums[i].add(o.report)
			}
		}
	}
	for _, o := range trials {
		errs = append(errs, o.err)
	}
	comparison(os.Stdout, sums)
	return errors.Join(errs...)
}

// one is a trial of one library.
type one struct {
	locker string
	seed   uint64
	report *judge.Report
	err    error // what went wrong with the trial itself
}

func (o *one) run(ctx context.Context, cfg trial.Config) {
	cfg.Locker, cfg.Seed = o.locker, o.seed
	cfg.Out = filepath.Join(cfg.Out, fmt.Sprintf("%s-%d", o.locker, o.seed))
	cfg.Title = fmt.Sprintf("%s, seed %d", o.locker, o.seed)
	cfg.Replay = again(cfg)
	var h *history.History
	h, o.err = trial.Run(ctx, cfg, trial.NewPlan(cfg))
	if o.err != nil {
		o.err = fmt.Errorf("%s: %w", cfg.Title, o.err)
	}
	if h == nil {
		return
	}
	var err error
	if o.report, err = trial.Conclude(io.Discard, cfg.Out, h, nil); o.report == nil {
		o.err = errors.Join(o.err, err)
	}
	fmt.Fprintf(os.Stderr, "%v %s\n", time.Now().Format(time.TimeOnly), cfg.Title)
}

// sum is what came of all trials of a library.
type sum struct {
	run            history.Run
	trials         int
	holds, calls   int
	broken, looked map[string]int // by check
	unnoticed      int
	writes, lost   int
}

func (s *sum) add(r *judge.Report) {
	s.run = r.Run
	s.trials++
	s.holds += judge.Sum(r.Summary.Holds)
	s.calls += judge.Sum(r.Summary.Calls)
	for i := range r.Checks {
		c := &r.Checks[i]
		broken, _ := c.Count()
		s.broken[c.Name] += broken
		s.looked[c.Name] += c.Looked
	}
	s.unnoticed += r.Summary.Unnoticed
	s.writes += r.Summary.Plain.Writes
	s.lost += r.Summary.Plain.Lost
}

// comparison prints a column for each library. What a library does not have cannot fail.
func comparison(out io.Writer, sums []*sum) {
	line := func(what string, cell func(*sum) string) {
		fmt.Fprintf(out, "| %s |", what)
		for _, s := range sums {
			fmt.Fprintf(out, " %s |", cell(s))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "| | %s |\n|%s\n", strings.Join(lockers, " | "), strings.Repeat("---|", len(lockers)+1))
	line("trials", func(s *sum) string { return fmt.Sprint(s.trials) })
	line("holds", func(s *sum) string { return fmt.Sprint(s.holds) })
	line("calls", func(s *sum) string { return fmt.Sprint(s.calls) })
	of := func(broken, looked int) string {
		switch {
		case looked == 0:
			return "no case"
		case broken == 0:
			return fmt.Sprintf("0 of %d", looked)
		}
		return fmt.Sprintf("**%d** of %d", broken, looked)
	}
	check := func(name, what string, has func(*sum) bool) {
		line(what, func(s *sum) string {
			if !has(s) {
				return "has none"
			}
			return of(s.broken[name], s.looked[name])
		})
	}
	always := func(*sum) bool { return true }
	check(judge.Exclusion, "two valid holds of one name, of all holds", always)
	line("updates of unprotected registers that were lost, of all writes", func(s *sum) string { return of(s.lost, s.writes) })
	check(judge.Tokens, "tokens out of order, of all holds", func(s *sum) bool { return s.run.Tokens })
	check(judge.Loss, "loss signals later than validity, of all holds", func(s *sum) bool { return s.run.Signal })
	line("holds that went on after their validity, with no signal", func(s *sum) string {
		if s.run.Signal {
			return "cannot be"
		}
		return of(s.unnoticed, s.holds)
	})
	check(judge.Deadlines, "calls that went on after their deadline, of all calls", always)
	check(judge.Turns, "later callers who were served first, of pairs in quiet times", always)
	check(judge.Service, "waits and gaps of more than 2 s with nothing wrong", always)
	check(judge.Residue, "clients and masters with something left at the end", always)
	check(judge.Errors, "errors that nobody documents, of all calls", always)
}
