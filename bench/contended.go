package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// The callers of several clients compete for one name without a pause.

func contendedTrials() []trial {
	var trials []trial
	for _, section := range []time.Duration{0, time.Millisecond} {
		for _, n := range []int{1, 4, 16, 32} {
			trials = append(trials, contendedTrial(n, 1, section))
		}
	}
	return append(trials, contendedTrial(4, 4, time.Millisecond))
}

func contendedTrial(clients, callers int, section time.Duration) trial {
	ms := section.Milliseconds()
	t := trial{
		scenario: "contended",
		setting:  fmt.Sprintf("%dx%dms", clients, ms),
		title:    fmt.Sprintf("%s on one name, held for %d ms each time", counted(clients, "client"), ms),
		among:    []string{"redlock", "redsync-ff", "redsync", "rueidislock/1"},
		measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureContended(ctx, e, c, clients, callers, section)
		},
	}
	if callers > 1 {
		t.setting = fmt.Sprintf("%dx%dx%dms", clients, callers, ms)
		t.title = fmt.Sprintf("%d clients with %d callers each on one name, held for %d ms each time", clients, callers, ms)
	}
	return t
}

func measureContended(ctx context.Context, e *env, c contender, n, callers int, section time.Duration) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, n)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	clients = slices.Repeat(clients, callers)
	before, err := e.fleet.meters()
	if err != nil {
		return nil, err
	}
	waits, err := contend(ctx, clients, section, 4*e.duration) // long enough for starvation to show
	if err != nil {
		return nil, err
	}
	used, err := e.fleet.used(before)
	if err != nil {
		return nil, err
	}
	var served []int
	for _, w := range waits {
		served = append(served, len(w)-1) // the last wait got no lock, see contend
	}
	all := slices.Concat(waits...)
	locks := len(all) - len(clients)
	if locks == 0 {
		return nil, errors.New("nobody got the lock")
	}
	return []figure{
		{"throughput", "locks/s", float64(locks) / used.wall.Seconds()},
		{"wait p50", "ms", millis(all.percentile(50))},
		{"wait p99", "ms", millis(all.percentile(99))},
		{"wait max", "ms", millis(all.percentile(100))},
		{"least served", "locks", float64(slices.Min(served))},
		{"most served", "locks", float64(slices.Max(served))},
		{"masters' CPU per lock", "µs", used.masters.cpu() / float64(locks)},
		{"script calls per lock", "", used.masters.scripts() / float64(locks)},
		{"commands per lock", "", used.masters.sent(c.plain) / float64(locks)},
	}, nil
}

// contend runs one caller for each element of clients, which may repeat. Each locks one name as often
// as it can for d. contend returns the waits of each caller. The last of them is the one that the end
// of the trial cut short: the real wait was at least that long, and without it a caller that starves
// would not show.
func contend(ctx context.Context, clients []client, section, d time.Duration) ([]samples, error) {
	waits := make([]samples, len(clients))
	var inside atomic.Int32
	short, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	// Goroutines: one per caller. Each ends when short does; Wait waits for them.
	var contest errgroup.Group
	for i, cl := range clients {
		contest.Go(func() error {
			defer cancel() // an error ends it for all
			for {
				asked := time.Now()
				h, err := cl.Lock(short, "contended")
				waits[i] = append(waits[i], time.Since(asked))
				if short.Err() != nil {
					if err == nil { // not every contender watches its context
						return h.Unlock(ctx)
					}
					return nil
				}
				if err != nil {
					return err
				}
				if inside.Add(1) > 1 {
					return errors.New("two callers have the lock")
				}
				time.Sleep(section)
				inside.Add(-1)
				if err := h.Unlock(ctx); err != nil {
					return err
				}
			}
		})
	}
	err := contest.Wait()
	return waits, err
}
