package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
)

// Many goroutines share one client, and each locks and unlocks names of its own.

// maxCallers is the largest number of callers in a trial.
const maxCallers = 1024

// names returns lock names, made in advance so that making them is not measured. There are so many
// that a name is as good as fresh when its turn comes again.
func names() []string { return numbered("bench:", 64*maxCallers) }

// numbered returns n names that begin with prefix.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}

func measureParallel(n int) measurement {
	return func(ctx context.Context, e *env) ([]figure, error) {
		names := names()
		locks, failed, used, err := e.throng(ctx, n, func(caller, i int) error {
			return cycle(ctx, e.clients[0], names[(caller+i*n)%len(names)])
		})
		if err != nil {
			return nil, err
		}
		return []figure{
			{"throughput", "locks/s", locks / used.wall.Seconds()},
			{"client CPU per lock", "µs", micros(used.cpu) / locks},
			{"masters' CPU per lock", "µs", used.masters.cpu() / locks},
			{"on the wire per lock", "B", used.masters.wire() / locks},
			{"allocations per lock", "", float64(used.allocs) / locks},
			{"failed cycles", "", failed},
		}, nil
	}
}

// throng has n callers lock and unlock at the same time, each again and again: cycle(caller, i) is the caller's
// cycle number i. It returns how many cycles succeeded and failed in a measurement, and what was used.
func (e *env) throng(ctx context.Context, n int, cycle func(caller, i int) error) (locks, failed float64, used usage, err error) {
	var successes, failures atomic.Int64
	var reason atomic.Value
	// Goroutines: the callers. Each ends after the cycle during which calling ends; Wait waits for
	// them.
	var callers sync.WaitGroup
	calling, stop := context.WithCancel(ctx)
	defer callers.Wait()
	defer stop()
	for caller := range n {
		callers.Go(func() {
			for i := 0; calling.Err() == nil; i++ {
				if err := cycle(caller, i); err != nil {
					failures.Add(1)
					reason.Store(err.Error())
					continue
				}
				successes.Add(1)
			}
		})
	}
	sleep(ctx, duration) // connections are opened meanwhile, and locks kept
	used, err = e.fleet.during(func() error {
		locks, failed = float64(successes.Load()), float64(failures.Load())
		sleep(ctx, duration)
		locks, failed = float64(successes.Load())-locks, float64(failures.Load())-failed
		return nil
	})
	if err == nil && locks == 0 {
		err = fmt.Errorf("no lock was taken; the last reason: %v", reason.Load())
	}
	return locks, failed, used, err
}
