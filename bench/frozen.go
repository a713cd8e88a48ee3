package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// One caller, as in uncontended, on healthy masters, and right after that while some of them hang: SIGSTOP, with
// their connections open. The ratio of the two is the cost of the fault, on the same machine under the same load.

func frozenTrials() []trial {
	var trials []trial
	for n := 1; n <= mastersN/2; n++ {
		trials = append(trials, trial{
			scenario: "frozen",
			setting:  strconv.Itoa(n),
			title:    fmt.Sprintf("one caller, fresh names, %d of %d masters frozen", n, mastersN),
			among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "limit"},
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureFrozen(ctx, e, c, n)
			},
		})
	}
	return trials
}

func measureFrozen(ctx context.Context, e *env, c contender, n int) (_ []figure, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	defer closing(e.fleet.thaw, &err) // before the client closes, since that may wait for answers
	// Each state has names of its own, since some contenders leave keys behind.
	names := names()
	healthy, ill := newTimings(), newTimings()
	if err := healthy.runEnough(ctx, cl, names[:len(names)/2], e.duration, enough); err != nil {
		return nil, err
	}
	if err := e.fleet.freeze(n); err != nil {
		return nil, err
	}
	if err := ill.runEnough(ctx, cl, names[len(names)/2:], e.duration, enough); err != nil {
		return nil, err
	}
	ratio := func(p float64) float64 {
		return micros(ill.acquires.percentile(p)) / micros(healthy.acquires.percentile(p))
	}
	return append(ill.percentiles(), []figure{
		{"acquire p50 / healthy", "", ratio(50)},
		{"acquire p99 / healthy", "", ratio(99)},
		{"cycles", "", float64(len(ill.acquires))},
	}...), nil
}

// enough is how many cycles a 99th percentile needs: of 2,000, 20 lie above it.
const enough = 2000

// runEnough runs for d, and then until there are n cycles, but for no more than eight times d: where
// cycles take that long, all percentiles are alike.
func (s *timings) runEnough(ctx context.Context, cl client, names []string, d time.Duration, n int) error {
	for end := time.Now().Add(8 * d); ; {
		if err := s.run(ctx, cl, names, d); err != nil {
			return err
		}
		if len(s.acquires) >= n || !time.Now().Before(end) {
			return nil
		}
	}
}
