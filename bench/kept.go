package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Names that one client locks again and again, and what it costs others that it keeps them.

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
	locks, failed, used, err := e.throng(ctx, 4*clientsN, func(caller, _ int) error {
		own := caller % clientsN
		name := names[rand.IntN(len(names))]
		if rand.IntN(100) < local {
			name = names[own*each+rand.IntN(each)]
		}
		return cycle(ctx, clients[own], name)
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		{"throughput", "locks/s", locks / used.wall.Seconds()},
		{"failed cycles", "", failed},
	}, nil
}
