package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// What a client costs its process: for a try that is refused, when it does nothing, and for many
// waiters. The cost of a lock that is granted is in uncontended.

// trier is a client that can also try without waiting.
type trier interface {
	// TryLock fails at once when somebody else holds name.
	TryLock(ctx context.Context, name string) (hold, error)
}

var _ = []trier{ourClient{}, &redsyncClient{}, &bsmClient{}, rueidisClient{}, &limitClient{}}

func memoryTrials() []trial {
	const n = 1000
	return []trial{
		{
			scenario: "memory",
			setting:  "taken",
			title:    "one caller tries to take a lock that another client holds",
			measure:  measureTaken,
		},
		{
			scenario: "memory",
			setting:  "idle",
			title:    "a client that has locked before and is now idle",
			among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "bsm/1", "rueidislock/1"},
			measure:  measureIdle,
		},
		{
			scenario: "memory",
			setting:  strconv.Itoa(n),
			title:    fmt.Sprintf("%d callers of one client wait for %d locks that are not released", n, n),
			among:    waitersAmong,
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureWaiters(ctx, e, c, n, n)
			},
		},
	}
}

func measureTaken(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	const name = "taken"
	clients, closeAll, err := e.openMany(ctx, c, 2)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	h, err := clients[0].Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer closing(func() error { return h.Unlock(ctx) }, &err)
	tries := newTimings().acquires
	if tries, err = refusals(ctx, clients[1].(trier), name, e.duration/2, tries); err != nil { // connections are opened meanwhile
		return nil, err
	}
	before := readProcess()
	tries, err = refusals(ctx, clients[1].(trier), name, e.duration, tries[:0])
	used := readProcess()
	n := float64(len(tries))
	return []figure{
		{"try p50", "µs", micros(tries.percentile(50))},
		{"try p99", "µs", micros(tries.percentile(99))},
		{"allocations per try", "", float64(used.allocs-before.allocs) / n},
		{"bytes allocated per try", "B", float64(used.bytes-before.bytes) / n},
	}, err
}

// refusals tries for d to take a lock that is taken, and appends how long each try took to tries.
func refusals(ctx context.Context, cl trier, name string, d time.Duration, tries samples) (samples, error) {
	for end := time.Now().Add(d); ; {
		asked := time.Now()
		if asked.After(end) {
			return tries, nil
		}
		if _, err := cl.TryLock(ctx, name); err == nil {
			return nil, errors.New("took a lock that is taken")
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		tries = append(tries, time.Since(asked))
	}
}

func measureIdle(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	before := settled(ctx)
	alone, err := e.fleet.counters()
	if err != nil {
		return nil, err
	}
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	idle := settled(ctx).since(before)
	now, err := e.fleet.counters()
	if err != nil {
		return nil, err
	}
	return []figure{
		{"goroutines", "", float64(idle.goroutines)},
		{"connections per master", "", float64(now.since(alone).connections) / float64(c.masters)},
		{"heap", "kB", float64(idle.heap) / 1000},
	}, nil
}
