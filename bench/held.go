package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// One client keeps many locks for long.

func heldTrials(long bool) []trial {
	trials := []trial{heldTrial(10_000, 9*time.Second, []string{"redlock", "redsync-ff", "bsm/1", "rueidislock/1"})}
	if long {
		trials = append(trials, heldTrial(100_000, lease, []string{"redlock", "bsm/1", "rueidislock/1"}))
	}
	return trials
}

func heldTrial(n int, lease time.Duration, among []string) trial {
	return trial{
		scenario: "held",
		setting:  strconv.Itoa(n),
		title:    fmt.Sprintf("%d locks held, with a lease of %v that is renewed every third of it", n, lease),
		among:    among,
		measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureHeld(ctx, e, c, n, lease)
		},
	}
}

// keepers is how many goroutines take, renew and give back the locks.
const keepers = 64

func measureHeld(ctx context.Context, e *env, c contender, n int, lease time.Duration) (_ []figure, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	holds := make([]hold, n)
	err = share(n, func(i int) (err error) {
		holds[i], err = cl.Lock(ctx, "held:"+strconv.Itoa(i))
		return err
	})
	if err != nil {
		return nil, err
	}

	// A window of one period has each hold's renewal once, wherever it begins.
	period := lease / 3
	keeping, cancel := context.WithCancel(ctx)
	defer cancel()
	kept := keep(keeping, holds, period)
	before, err := e.fleet.meters()
	if err != nil {
		return nil, err
	}
	sleep(ctx, period)
	used, err := e.fleet.used(before)
	cancel()
	<-kept
	if err != nil {
		return nil, err
	}

	var lost atomic.Int64
	_ = share(n, func(i int) error {
		if holds[i].Unlock(ctx) != nil {
			lost.Add(1)
		}
		return nil
	})
	heldSeconds := float64(n) * used.wall.Seconds()
	return []figure{
		{"client CPU per lock and second", "µs", micros(used.cpu) / heldSeconds},
		{"masters' CPU per lock and second", "µs", micros(used.masters.cpu) / heldSeconds},
		{"commands", "1/s", float64(used.masters.sent(c.plain)) / used.wall.Seconds()},
		{"lost", "locks", float64(lost.Load())},
	}, nil
}

// share has the keepers call do for 0 to n-1, and returns the first error.
func share(n int, do func(i int) error) error {
	var group errgroup.Group
	for k := range keepers {
		group.Go(func() error {
			for i := k; i < n; i += keepers {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// keep renews the holds whose library does not, each once in a period and evenly spread,
// until ctx ends; the channel is closed then. A renewal that fails shows when the lock is
// given back.
func keep(ctx context.Context, holds []hold, period time.Duration) <-chan struct{} {
	done := make(chan struct{})
	if _, ok := holds[0].(renewer); !ok {
		close(done)
		return done
	}
	start := time.Now()
	go func() {
		defer close(done)
		for round := 0; ctx.Err() == nil; round++ {
			_ = share(len(holds), func(i int) error {
				due := time.Duration(round)*period + period*time.Duration(i)/time.Duration(len(holds))
				sleep(ctx, time.Until(start.Add(due)))
				if ctx.Err() == nil {
					_ = holds[i].(renewer).Extend(ctx)
				}
				return ctx.Err()
			})
		}
	}()
	return done
}
