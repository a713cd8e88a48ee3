package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/redlock"
)

// Names that one client locks again and again, and what it costs others that it keeps them.

// keeper is this library with Config.Keep.
var keeper = contender{
	name:    "redlock, kept",
	masters: mastersN,
	named:   true,
	open: func(addresses []string, t times) (client, error) {
		c, err := redlock.New(redlock.Config{Masters: addresses, Lease: t.lease, RestartGuard: -1, NodeTimeout: t.patience, Keep: 10 * time.Second})
		return ourClient{c}, err
	},
}

func keptTrials() []trial {
	among := []string{"redlock", "redlock, kept", "redsync-ff", "limit"}
	trials := []trial{
		{setting: "same name", title: "one caller, the same name again and again", measure: measureSameName},
		{setting: "alternating", title: "two clients in turn, each three times; the first Lock of the three", measure: measureAlternating},
	}
	for _, local := range []int{100, 90, 25} {
		trials = append(trials, trial{
			setting: fmt.Sprintf("%d %%", local),
			title:   fmt.Sprintf("4 clients with 4 goroutines each, 1,000 names, of which each client has its 250; %d %% of its locks are of those", local),
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureLocal(ctx, e, c, local)
			},
		})
	}
	for i := range trials {
		trials[i].scenario, trials[i].among = "kept", among
	}
	return trials
}

func measureSameName(ctx context.Context, e *env, c contender) ([]figure, error) {
	subscribed := e.duration / 2 // a client that keeps locks subscribes meanwhile
	return measureLocks(ctx, e, c, []string{"bench:same"}, subscribed)
}

// measureAlternating has a client lock what the other has given back, or keeps, having taken it over.
func measureAlternating(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, 2)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	sleep(ctx, e.duration/2)
	s := newTimings()
	for end, i := time.Now().Add(e.duration), 0; time.Now().Before(end); i++ {
		asked := time.Now()
		h, err := clients[i/3%2].Lock(ctx, "bench:turns")
		if err != nil {
			return nil, err
		}
		if i%3 == 0 {
			s.acquires = append(s.acquires, time.Since(asked))
		}
		if err := h.Unlock(ctx); err != nil {
			return nil, err
		}
	}
	return []figure{
		{"acquire p50", "µs", micros(s.acquires.percentile(50))},
		{"acquire p99", "µs", micros(s.acquires.percentile(99))},
	}, nil
}

// measureLocal has clients lock names of their own, for local percent of their locks, and any names else.
func measureLocal(ctx context.Context, e *env, c contender, local int) (_ []figure, err error) {
	const clientsN, each = 4, 250
	clients, closeAll, err := e.openMany(ctx, c, clientsN)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	names := numbered("bench:", clientsN*each)
	var locks, failures atomic.Int64
	// Goroutines: the callers. Each ends after the cycle during which calling ends; Wait waits for them.
	var callers sync.WaitGroup
	calling, stop := context.WithCancel(ctx)
	defer callers.Wait()
	defer stop()
	for caller := range 4 * clientsN {
		callers.Go(func() {
			r, own := rand.New(rand.NewPCG(uint64(caller), 0)), caller%clientsN
			for calling.Err() == nil {
				name := names[r.IntN(len(names))]
				if r.IntN(100) < local {
					name = names[own*each+r.IntN(each)]
				}
				if cycle(ctx, clients[own], name) == nil {
					locks.Add(1)
				} else {
					failures.Add(1)
				}
			}
		})
	}
	sleep(ctx, e.duration)
	done, began := locks.Load(), time.Now()
	sleep(ctx, e.duration)
	return []figure{
		{"throughput", "locks/s", float64(locks.Load()-done) / time.Since(began).Seconds()},
		{"failed cycles", "", float64(failures.Load())},
	}, nil
}
