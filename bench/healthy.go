package main

import (
	"context"
	"time"
)

// One client on masters that are well, and right after that with some that are not. What
// a fault costs is the ratio of the two: the machine was the same.

// enough is how many cycles a 99th percentile takes: of 2,000, 20 lie above it.
const enough = 2000

// fault makes some masters ill, and well again.
type fault struct {
	begin, end func() error

	// turns is how often it comes and goes in a measurement. The more of them, the more
	// alike is what else the machine does to both states; but each one disturbs, too.
	turns int
}

// besideHealthy measures one caller of cl on healthy masters, and with the fault.
func besideHealthy(ctx context.Context, e *env, cl client, f fault) ([]figure, error) {
	// Names of their own: not every contender leaves nothing behind.
	names := names()
	names, others := names[:len(names)/2], names[len(names)/2:]
	healthy, ill := newStrokes(), newStrokes()
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

// runEnough runs for d, and on until there are n cycles, but not for more than eight times
// d: where a cycle takes so long, all percentiles tell the same.
func (s *strokes) runEnough(ctx context.Context, cl client, names []string, d time.Duration, n int) error {
	for end := time.Now().Add(8 * d); ; {
		if err := s.run(ctx, cl, names, d); err != nil {
			return err
		}
		if len(s.acquires) >= n || !time.Now().Before(end) {
			return nil
		}
	}
}

// beside returns the times of s, and the ratio of those to acquire to the healthy ones.
func (s *strokes) beside(healthy *strokes) []figure {
	p50, p99 := micros(s.acquires.percentile(50)), micros(s.acquires.percentile(99))
	return []figure{
		{"acquire p50", "µs", p50},
		{"acquire p99", "µs", p99},
		{"release p50", "µs", micros(s.releases.percentile(50))},
		{"release p99", "µs", micros(s.releases.percentile(99))},
		{"acquire p50 / healthy", "", p50 / micros(healthy.acquires.percentile(50))},
		{"acquire p99 / healthy", "", p99 / micros(healthy.acquires.percentile(99))},
		{"cycles", "", float64(len(s.acquires))},
	}
}
