package main

import (
	"context"
	"time"
)

// One client on healthy masters, and right after that with some that are not. The ratio of the two
// is the cost of the fault, on the same machine under the same load.

// enough is how many cycles a 99th percentile needs: of 2,000, 20 lie above it.
const enough = 2000

// fault makes some masters unhealthy, and healthy again.
type fault struct {
	begin, end func() error

	// turns is how often the fault comes and goes in a measurement. More turns spread other load on
	// the machine more evenly over both states, but each turn is a disturbance itself.
	turns int
}

// besideHealthy measures one caller of cl on healthy masters and with the fault.
func besideHealthy(ctx context.Context, e *env, cl client, f fault) ([]figure, error) {
	// Each state has names of its own, since some contenders leave keys behind.
	names := names()
	names, others := names[:len(names)/2], names[len(names)/2:]
	healthy, ill := newTimings(), newTimings()
	d := e.duration / time.Duration(f.turns)
	for turn := range f.turns {
		n := enough * (turn + 1) / f.turns
		if err := healthy.runEnough(ctx, cl, names, d, n); err != nil {
			return nil, err
		}
		if err := f.begin(); err != nil {
			return nil, err
		}
		if err := ill.runEnough(ctx, cl, others, d, n); err != nil {
			return nil, err
		}
		if err := f.end(); err != nil {
			return nil, err
		}
	}
	return ill.beside(healthy), nil
}

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

// beside returns the percentiles of s, and the ratios of its acquire times to the healthy ones.
func (s *timings) beside(healthy *timings) []figure {
	ratio := func(p float64) float64 {
		return micros(s.acquires.percentile(p)) / micros(healthy.acquires.percentile(p))
	}
	return append(s.percentiles(), []figure{
		{"acquire p50 / healthy", "", ratio(50)},
		{"acquire p99 / healthy", "", ratio(99)},
		{"cycles", "", float64(len(s.acquires))},
	}...)
}
