package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// The callers of several clients compete for one name without a pause.

// contest is how long one lasts: long enough for starvation to show.
const contest = 2 * time.Second

func measureContended(callers int, section time.Duration) measurement {
	return func(ctx context.Context, e *env) ([]figure, error) {
		clients := slices.Repeat(e.clients, callers)
		var waits []samples
		used, err := e.fleet.during(func() (err error) {
			waits, err = contend(ctx, clients, 1, section, contest, client.Lock)
			return err
		})
		if err != nil {
			return nil, err
		}
		var served []int
		for _, w := range waits {
			served = append(served, len(w)-1) // the last wait got no lock, see contend
		}
		all := slices.Concat(waits...)
		locks := float64(len(all) - len(clients))
		if locks == 0 {
			return nil, errors.New("nobody got the lock")
		}
		return slices.Concat(
			[]figure{{"throughput", "locks/s", locks / used.wall.Seconds()}},
			all.figures("wait", time.Millisecond, 50, 99, 100),
			[]figure{
				{"least served", "locks", float64(slices.Min(served))},
				{"most served", "locks", float64(slices.Max(served))},
				{"masters' CPU per lock", "µs", used.masters.cpu() / locks},
				{"script calls per lock", "", used.masters.scripts() / locks},
				{"commands per lock", "", used.masters.sent(e.contender.plain) / locks},
			},
		), nil
	}
}

// taker takes a name for a client.
type taker func(cl client, ctx context.Context, name string) (hold, error)

// contend runs one caller for each element of clients, which may repeat. Each takes one name as often
// as it can for d; at most so many of them may have it at a time. contend returns the waits of each
// caller. The last of them is the one that the end of the trial cut short: the real wait was at least
// that long, and without it a caller that starves would not show.
func contend(ctx context.Context, clients []client, most int, section, d time.Duration, take taker) ([]samples, error) {
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
				h, err := take(cl, short, "contended")
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
				if inside.Add(1) > int32(most) {
					return errors.New("too many callers have the name")
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
