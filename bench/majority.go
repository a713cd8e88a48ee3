package main

import (
	"context"
	"errors"
	"fmt"
)

// How the number of masters matters: one caller, and many goroutines, on three, five and seven.

func majorityTrials() []trial {
	var trials []trial
	for _, callers := range []int{1, 256} {
		for _, n := range []int{3, 5, 7} {
			t := trial{
				scenario: "majority",
				setting:  fmt.Sprintf("%dx%d", n, callers),
				title:    fmt.Sprintf("%d masters; as in uncontended/1", n),
				among:    []string{"redlock", "redsync-ff", "limit"},
				measure:  onMasters(n, measureUncontended),
			}
			if callers > 1 {
				t.title = fmt.Sprintf("%d masters; as in parallel/%d", n, callers)
				t.measure = onMasters(n, func(ctx context.Context, e *env, c contender) ([]figure, error) {
					return measureParallel(ctx, e, c, callers)
				})
			}
			trials = append(trials, t)
		}
	}
	return trials
}

// onMasters measures on n masters, which it starts.
func onMasters(n int, measure measurement) measurement {
	return func(ctx context.Context, e *env, c contender) (figures []figure, err error) {
		own := *e
		if own.fleet, err = startFleet(ctx, e.fleet.program, n); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, own.fleet.close()) }()
		c.masters = n
		return measure(ctx, &own, c)
	}
}
