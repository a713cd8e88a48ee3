package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// Names that one client locks again and again, and what it costs others that it keeps them. A client that keeps
// locks subscribes first.

func measureSameName(ctx context.Context, e *env) ([]figure, error) {
	sleep(ctx, e.duration/2)
	return e.measureLocks(ctx, []string{"bench:same"})
}

// measureAlternating has a client lock what the other has given back, or keeps, having taken it over.
func measureAlternating(ctx context.Context, e *env) ([]figure, error) {
	sleep(ctx, e.duration/2)
	s := newTimings()
	err := s.run(ctx, e.duration, func(ctx context.Context, i int) (hold, error) {
		return e.clients[i/3%2].Lock(ctx, "bench:turns")
	})
	return s.acquires.every(3, 0).figures("acquire", time.Microsecond, 50, 99), err
}

// measureLocal has clients lock names of their own, for local percent of their locks, and any names else.
func measureLocal(local int) measurement {
	return func(ctx context.Context, e *env) ([]figure, error) {
		const each = 250
		names := numbered("bench:", len(e.clients)*each)
		locks, failed, used, err := e.throng(ctx, 4*len(e.clients), func(caller, _ int) error {
			own := caller % len(e.clients)
			name := names[rand.IntN(len(names))]
			if rand.IntN(100) < local {
				name = names[own*each+rand.IntN(each)]
			}
			return cycle(ctx, e.clients[own], name)
		})
		if err != nil {
			return nil, err
		}
		return []figure{
			{"throughput", "locks/s", locks / used.wall.Seconds()},
			{"failed cycles", "", failed},
		}, nil
	}
}
