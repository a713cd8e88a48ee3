package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Many goroutines share one client, and each locks and unlocks names of its own.

func parallelTrials() []trial {
	var trials []trial
	for _, n := range []int{1, 16, 256, maxCallers} {
		trials = append(trials, trial{
			scenario: "parallel",
			setting:  strconv.Itoa(n),
			title:    counted(n, "goroutine") + ", each on names of its own",
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureParallel(ctx, e, c, n)
			},
		})
	}
	return trials
}

func measureParallel(ctx context.Context, e *env, c contender, n int) (_ []figure, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	names := names()
	var locks, failures atomic.Int64
	var reason atomic.Value
	// Goroutines: the callers. Each ends after the cycle during which calling ends; Wait waits for
	// them.
	var callers sync.WaitGroup
	calling, stop := context.WithCancel(ctx)
	defer callers.Wait()
	defer stop()
	for caller := range n {
		callers.Go(func() {
			for i := caller; calling.Err() == nil; i += n {
				if err := cycle(ctx, cl, names[i%len(names)]); err != nil {
					failures.Add(1)
					reason.Store(err.Error())
					continue
				}
				locks.Add(1)
			}
		})
	}
	sleep(ctx, e.duration/2) // connections are opened meanwhile
	before, err := e.fleet.meters()
	if err != nil {
		return nil, err
	}
	done, failed := locks.Load(), failures.Load()
	sleep(ctx, e.duration)
	count := float64(locks.Load() - done)
	failed = failures.Load() - failed
	used, err := e.fleet.used(before)
	if err != nil {
		return nil, err
	}
	if count == 0 {
		return nil, fmt.Errorf("no lock was taken; the last reason: %v", reason.Load())
	}
	return []figure{
		{"throughput", "locks/s", count / used.wall.Seconds()},
		{"client CPU per lock", "µs", micros(used.cpu) / count},
		{"masters' CPU per lock", "µs", micros(used.masters.cpu) / count},
		{"on the wire per lock", "B", float64(used.masters.wire) / count},
		{"allocations per lock", "", float64(used.allocs) / count},
		{"failed cycles", "", float64(failed)},
	}, nil
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// closing closes what a measurement opened. It sets *err to the error, unless *err has one already.
func closing(closeIt func() error, err *error) {
	if closed := closeIt(); *err == nil {
		*err = closed
	}
}
