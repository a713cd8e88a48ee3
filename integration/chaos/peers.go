package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/redlock/integration/trial"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
)

// lockers are the libraries that can be tried.
var lockers = []string{trial.Redlock, "redsync", "redsync-ff", "single"}

// compare runs the same trials with each library, a few beside each other, and prints what came of them in a
// table in Markdown. That a check fails is no error here. A trial that went wrong does not count: it is one
// in which the machine could not mend a fault, or a client failed.
func compare(ctx context.Context, cfg trial.Config, folder, seeds string, workers int) error {
	ours, err := trial.Build(ctx, folder, trial.Redlock, cfg.Only)
	if err != nil {
		return err
	}
	peers, err := trial.Build(ctx, folder, "redsync", cfg.Only) // the same program for all of them
	if err != nil {
		return err
	}
	var trials []*row
	for text := range strings.SplitSeq(seeds, ",") {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("-peers: %w", err)
		}
		for _, locker := range lockers {
			cfg := cfg
			cfg.Locker, cfg.Seed = locker, seed
			if cfg.Programs = peers; locker == trial.Redlock {
				cfg.Programs = ours
			}
			cfg.Out = filepath.Join(cfg.Out, fmt.Sprintf("%s-%d", locker, seed))
			cfg.Title = fmt.Sprintf("%s, seed %d", locker, seed)
			cfg.Replay = again(cfg)
			trials = append(trials, &row{cfg: cfg, plan: trial.NewPlan(cfg)})
		}
	}
	try(ctx, trials, workers)
	columns := make([]column, len(lockers))
	var errs []error
	for _, r := range trials {
		if i := slices.Index(lockers, r.cfg.Locker); r.err == nil {
			columns[i] = append(columns[i], r.report)
		}
		errs = append(errs, r.err)
	}
	comparison(os.Stdout, columns)
	return errors.Join(errs...)
}

// column is what came of all trials of a library.
type column []*judge.Report

// has reports whether the library has something, as its runs say.
func (c column) has(what func(history.Run) bool) bool {
	var run history.Run
	if len(c) > 0 {
		run = c[0].Run
	}
	return what(run)
}

func (c column) sum(of func(judge.Summary) int) (n int) {
	for _, r := range c {
		n += of(r.Summary)
	}
	return n
}

// check returns how often a promise was broken, and how many things were looked at.
func (c column) check(name string) (broken, looked int) {
	for _, r := range c {
		for _, one := range r.Checks {
			if one.Name == name {
				n, _ := one.Count()
				broken, looked = broken+n, looked+one.Looked
			}
		}
	}
	return broken, looked
}

// comparison prints a column for each library. What a library does not have cannot fail.
func comparison(out io.Writer, columns []column) {
	line := func(what string, cell func(column) string) {
		fmt.Fprintf(out, "| %s |", what)
		for _, c := range columns {
			fmt.Fprintf(out, " %s |", cell(c))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "| | %s |\n|%s\n", strings.Join(lockers, " | "), strings.Repeat("---|", len(lockers)+1))
	holds := func(s judge.Summary) int { return judge.Sum(s.Holds) }
	line("trials", func(c column) string { return fmt.Sprint(len(c)) })
	line("holds", func(c column) string { return fmt.Sprint(c.sum(holds)) })
	line("calls", func(c column) string {
		return fmt.Sprint(c.sum(func(s judge.Summary) int { return judge.Sum(s.Calls) }))
	})
	of := func(broken, looked int) string {
		switch {
		case looked == 0:
			return "no case"
		case broken == 0:
			return fmt.Sprintf("0 of %d", looked)
		}
		return fmt.Sprintf("**%d** of %d", broken, looked)
	}
	check := func(name, what string, has func(history.Run) bool) {
		line(what, func(c column) string {
			if !c.has(has) {
				return "has none"
			}
			return of(c.check(name))
		})
	}
	always := func(history.Run) bool { return true }
	signal := func(r history.Run) bool { return r.Signal }
	check(judge.Exclusion, "two valid holds of one name, of all holds", always)
	line("updates of unprotected registers that were lost, of all writes", func(c column) string {
		return of(c.sum(func(s judge.Summary) int { return s.Plain.Lost }), c.sum(func(s judge.Summary) int { return s.Plain.Writes }))
	})
	check(judge.Tokens, "tokens out of order, of all holds", func(r history.Run) bool { return r.Tokens })
	check(judge.Loss, "loss signals later than validity, of all holds", signal)
	line("holds that went on after their validity, with no signal", func(c column) string {
		if c.has(signal) {
			return "cannot be"
		}
		return of(c.sum(func(s judge.Summary) int { return s.Unnoticed }), c.sum(holds))
	})
	check(judge.Deadlines, "calls that went on after their deadline, of all calls", always)
	check(judge.Turns, "later callers who were served first, of pairs in quiet times", always)
	check(judge.Service, "waits and gaps of more than 2 s with nothing wrong", always)
	check(judge.Residue, "clients and masters with something left at the end", always)
	check(judge.Errors, "errors that nobody documents, of all calls", always)
}
