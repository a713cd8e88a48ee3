package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/redlock/integration/trial"
	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/judge"
)

// row is a trial of a table.
type row struct {
	what   string // its first cells
	cfg    trial.Config
	plan   trial.Plan
	report *judge.Report // nil: there is none
	err    error         // what went wrong with the trial itself
}

// table tries each kind of fault alone, on a minority and on a majority of the masters, or of the clients, a few
// trials beside each other. It prints what came of it, and on standard error when each is over. Those of which a
// majority forgets break what nobody promised.
func table(ctx context.Context, cfg trial.Config) error {
	kinds := cfg.Only
	if len(kinds) == 0 {
		kinds = trial.Kinds()
	}
	var rows []*row
	for _, kind := range kinds {
		for _, many := range []int{(cfg.Masters - 1) / 2, cfg.Masters/2 + 1} {
			cfg := cfg
			cfg.Out = filepath.Join(cfg.Out, fmt.Sprintf("%s-%d", kind, many))
			cfg.Only = []string{kind}
			cfg.Replay = again(cfg) + " -table"
			cfg.Title = fmt.Sprintf("%s on %d of %d, seed %d", kind, many, cfg.Masters, cfg.Seed)
			rows = append(rows, &row{
				what: fmt.Sprintf("%s | %d of %d", kind, many, cfg.Masters),
				cfg:  cfg, plan: trial.NewSinglePlan(cfg, kind, many),
			})
		}
	}
	beside.Each(rows, 3, func(r *row) {
		if r.report, r.err = trial.Run(ctx, r.cfg, r.plan, io.Discard); r.err != nil {
			r.err = fmt.Errorf("%s: %w", r.cfg.Title, r.err)
		}
		fmt.Fprintf(os.Stderr, "%v %s\n", time.Now().Format(time.TimeOnly), r.cfg.Title)
	})
	fmt.Printf("| fault | on | faults | holds | lost | two holders | of these against a promise | told apart by tokens | writes with an older token than one before | tokens out of order | longest unavailability |\n|%s\n", strings.Repeat("---|", 11))
	var errs []error
	for _, r := range rows {
		errs = append(errs, r.err)
		if r.report == nil {
			continue
		}
		if err := r.report.Err(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.cfg.Title, err))
		}
		broken, unpromised, order := 0, 0, 0
		for i := range r.report.Checks {
			switch c := &r.report.Checks[i]; c.Name {
			case judge.Exclusion:
				broken, unpromised = c.Count()
			case judge.Tokens:
				order, _ = c.Count()
			}
		}
		s := &r.report.Summary
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %.1f s |\n", r.what,
			judge.Sum(s.Faults), judge.Sum(s.Holds), s.Lost, broken+unpromised, broken, s.Caught, s.Stale, order, s.Unavailable.Lasted().Seconds())
	}
	return errors.Join(errs...)
}
