package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/redlock/integration/trial"
	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
)

// row is a trial of one kind of fault, on so many masters or clients.
type row struct {
	kind   string
	many   int
	report *judge.Report // nil: the trial failed
	err    error
}

// table tries each kind of fault alone, on a minority and on a majority of the masters, or of the clients, a
// few trials at a time, and prints what came of it. Those of which a majority forgets break what nobody
// promised.
func table(ctx context.Context, cfg trial.Config, workers int) error {
	kinds := cfg.Only
	if len(kinds) == 0 {
		kinds = trial.Kinds()
	}
	var rows []*row
	for _, kind := range kinds {
		for _, many := range []int{(cfg.Masters - 1) / 2, cfg.Masters/2 + 1} {
			rows = append(rows, &row{kind: kind, many: many})
		}
	}
	beside.Each(rows, workers, func(r *row) { r.try(ctx, cfg) })
	fmt.Printf("| fault | on | faults | holds | lost | two holders | of these against a promise | told apart by tokens | writes refused | tokens out of order | longest unavailability |\n|%s\n", strings.Repeat("---|", 11))
	var errs []error
	for _, r := range rows {
		errs = append(errs, r.err)
		if r.report == nil {
			continue
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
		fmt.Printf("| %s | %d of %d | %d | %d | %d | %d | %d | %d | %d | %d | %.1f s |\n", r.kind, r.many, cfg.Masters,
			s.Faults[r.kind], judge.Sum(s.Holds), s.Lost, broken+unpromised, broken, s.Caught, s.Refused, order, s.Unavailable.Lasted().Seconds())
	}
	return errors.Join(errs...)
}

// try runs the trial of a row.
func (r *row) try(ctx context.Context, cfg trial.Config) {
	cfg.Out = filepath.Join(cfg.Out, fmt.Sprintf("%s-%d", r.kind, r.many))
	cfg.Replay = again(cfg) + " -table -only " + r.kind
	cfg.Title = fmt.Sprintf("%s on %d of %d, seed %d", r.kind, r.many, cfg.Masters, cfg.Seed)
	var h *history.History
	if h, r.err = trial.Run(ctx, cfg, trial.NewSinglePlan(cfg, r.kind, r.many)); h == nil {
		return
	}
	var report bytes.Buffer
	r.report, r.err = trial.Conclude(&report, cfg.Out, h, r.err)
	if r.err != nil {
		r.err = fmt.Errorf("%s on %d: %w", r.kind, r.many, r.err)
	}
	fmt.Fprintf(os.Stderr, "%v %s\n", time.Now().Format(time.TimeOnly), cfg.Title)
}
