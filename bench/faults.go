package main

import (
	"context"
	"time"
)

// One caller, as in uncontended, on healthy masters, and right after that while some of them hang: SIGSTOP, with
// their connections open. The ratio of the two is the cost of the fault, on the same machine under the same load.

func measureFrozen(n int) measurement {
	return func(ctx context.Context, e *env) (_ []figure, err error) {
		defer closing(e.fleet.thaw, &err) // before the client closes, since that may wait for answers
		// Each state has names of its own, since some contenders leave keys behind.
		names := names()
		healthy, ill := newTimings(), newTimings()
		if err := healthy.runEnough(ctx, duration, enough, inTurn(e.clients[0], names[:len(names)/2])); err != nil {
			return nil, err
		}
		if err := e.fleet.freeze(n); err != nil {
			return nil, err
		}
		if err := ill.runEnough(ctx, duration, enough, inTurn(e.clients[0], names[len(names)/2:])); err != nil {
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
}

// enough is how many cycles a 99th percentile needs: of 2,000, 20 lie above it.
const enough = 2000

// runEnough runs for d, and then until there are n cycles, but for no more than eight times d: where
// cycles take that long, all percentiles are alike.
func (s *timings) runEnough(ctx context.Context, d time.Duration, n int, take taking) error {
	for end := time.Now().Add(8 * d); ; {
		if err := s.run(ctx, d, take); err != nil {
			return err
		}
		if len(s.acquires) >= n || !time.Now().Before(end) {
			return nil
		}
	}
}

// failover is how long servers have to find out that one of them is dead, and to elect another leader.
const failover = 5 * time.Second

// measureDead has one caller, as in uncontended, when one server is dead: connections to it are refused.
func measureDead(ctx context.Context, e *env) ([]figure, error) {
	if err := e.fleet.kill(1); err != nil {
		return nil, err
	}
	sleep(ctx, failover)
	s := newTimings()
	if err := s.run(ctx, duration, inTurn(e.clients[0], names())); err != nil {
		return nil, err
	}
	return s.percentiles(), nil
}
