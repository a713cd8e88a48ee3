package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

// Many callers of one client wait for a lock that another client keeps.

func waitersTrials() []trial {
	const n = 1000
	return []trial{{
		scenario: "waiters",
		setting:  strconv.Itoa(n),
		title:    fmt.Sprintf("%d callers of one client wait for a lock that is not released", n),
		among:    []string{"redlock", "redsync-ff", "redsync", "rueidislock/1"},
		measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureWaiters(ctx, e, c, n)
		},
	}}
}

func measureWaiters(ctx context.Context, e *env, c contender, n int) (_ []figure, err error) {
	holder, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(holder.Close, &err)
	h, err := holder.Lock(ctx, "waiters")
	if err != nil {
		return nil, err
	}
	defer closing(func() error { return h.Unlock(ctx) }, &err)

	goroutines := runtime.NumGoroutine()
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
	turns := make([]<-chan turn, n)
	for i := range turns {
		turns[i] = waitFor(short, waiting, "waiters")
	}
	defer func() {
		cancel()
		for _, turn := range turns {
			<-turn
		}
	}()

	settle := max(time.Second, 2*e.duration) // what waiters do at first is not what waiting costs
	sleep(ctx, settle)
	before, err := e.fleet.meters()
	if err != nil {
		return nil, err
	}
	sleep(ctx, settle)
	goroutines = runtime.NumGoroutine() - goroutines - n
	used, err := e.fleet.used(before)
	if err != nil {
		return nil, err
	}
	now := before.masters.since(alone)
	return []figure{
		{"connections per master", "", float64(now.connections) / float64(c.masters)},
		{"goroutines beside theirs", "", float64(goroutines)},
		{"commands", "1/s", float64(used.masters.sent(c.plain)) / used.wall.Seconds()},
		{"client CPU", "% of a core", 100 * used.cpu.Seconds() / used.wall.Seconds()},
	}, nil
}
