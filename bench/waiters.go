package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

// Many callers of one client wait for locks that another client holds.

// waitersAmong are the contenders that can have so many waiters.
var waitersAmong = []string{"redlock", "redsync-ff", "redsync", "rueidislock/1"}

func waitersTrials() []trial {
	const n = 1000
	return []trial{{
		scenario: "waiters",
		setting:  strconv.Itoa(n),
		title:    fmt.Sprintf("%d callers of one client wait for a lock that is not released", n),
		among:    waitersAmong,
		measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureWaiters(ctx, e, c, n, 1)
		},
	}}
}

// measureWaiters has n callers wait for so many locks, at most n.
func measureWaiters(ctx context.Context, e *env, c contender, n, locks int) (_ []figure, err error) {
	holder, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(holder.Close, &err)
	names := numbered("waiters:", locks)
	holds, err := takeAll(ctx, holder, names)
	if err != nil {
		return nil, err
	}
	defer closing(func() error { return released(ctx, holds) }, &err)

	before := settled(ctx)
	alone, err := e.fleet.counters()
	if err != nil {
		return nil, err
	}
	waiting, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(waiting.Close, &err)
	short, cancel := context.WithCancel(ctx)
	outcomes := make([]<-chan outcome, n)
	for i := range outcomes {
		outcomes[i] = waitFor(short, waiting, names[i%locks])
	}
	defer func() {
		cancel()
		for _, outcome := range outcomes {
			<-outcome
		}
	}()

	settle := max(time.Second, 2*e.duration) // starting to wait costs more than waiting
	sleep(ctx, settle)
	start, err := e.fleet.meters()
	if err != nil {
		return nil, err
	}
	sleep(ctx, settle)
	used, err := e.fleet.used(start)
	if err != nil {
		return nil, err
	}
	kept := settled(ctx).since(before)
	runtime.KeepAlive(names)
	return []figure{
		{"connections per master", "", float64(start.masters.since(alone).connections) / float64(c.masters)},
		{"goroutines beside theirs", "", float64(kept.goroutines - n)},
		{"heap per waiter", "B", float64(kept.heap) / float64(n)},
		{"commands", "1/s", float64(used.masters.sent(c.plain)) / used.wall.Seconds()},
		{"client CPU", "% of a core", 100 * used.cpu.Seconds() / used.wall.Seconds()},
	}, nil
}
