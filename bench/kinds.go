package main

import (
	"context"
	"time"

	"example.com/redlock/redlock"
)

// One caller of this library takes one thing of each kind in turn, each time with a fresh name. So whatever
// else the machine does, it does to all of them.

func kindsTrials() []trial {
	return []trial{{
		scenario: "kinds",
		setting:  "1",
		title:    "one caller, fresh names: a reader's lock, one of ten permits, and four names together, each beside a Lock",
		among:    []string{"redlock"},
		measure:  measureKinds,
	}}
}

// kinds are what there is to take. Locks come first: the others are compared with them.
var kinds = []struct {
	name string
	take func(ctx context.Context, c *redlock.Client, name string) (hold, error)
}{
	{"Lock", func(ctx context.Context, c *redlock.Client, name string) (hold, error) { return c.Lock(ctx, name) }},
	{"RLock", func(ctx context.Context, c *redlock.Client, name string) (hold, error) { return c.RLock(ctx, name) }},
	{"Acquire", func(ctx context.Context, c *redlock.Client, name string) (hold, error) {
		return c.Semaphore(name, 10).Acquire(ctx)
	}},
	{"LockAll of 4", func(ctx context.Context, c *redlock.Client, name string) (hold, error) {
		return c.LockAll(ctx, name+":1", name+":2", name+":3", name+":4")
	}},
}

func measureKinds(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	taken := make([]timings, len(kinds))
	names := names()
	for end, i := time.Now().Add(4*e.duration), 0; time.Now().Before(end); i++ {
		for k, kind := range kinds {
			name := names[i%len(names)] + kind.name
			asked := time.Now()
			h, err := kind.take(ctx, cl.(ourClient).Client, name)
			if err != nil {
				return nil, err
			}
			held := time.Now()
			if err := h.Unlock(ctx); err != nil {
				return nil, err
			}
			taken[k].acquires = append(taken[k].acquires, held.Sub(asked))
			taken[k].releases = append(taken[k].releases, time.Since(held))
		}
	}
	var figures []figure
	for k, kind := range kinds {
		acquire, release := micros(taken[k].acquires.percentile(50)), micros(taken[k].releases.percentile(50))
		figures = append(figures, figure{kind.name + " p50", "µs", acquire}, figure{kind.name + ", release p50", "µs", release})
		if k > 0 {
			figures = append(figures, figure{kind.name + " / Lock", "", acquire / micros(taken[0].acquires.percentile(50))})
		}
	}
	return figures, nil
}
