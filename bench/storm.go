package main

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// Clients that start all at once on masters that have just started, as after a deployment or an outage.

const (
	stormTimes  = 5 // that each client takes the one name
	stormLimit  = time.Minute
	stormRounds = 6 // of up to some minutes
)

func measureStorm(n, often int, name func(i int) string) measurement {
	return func(ctx context.Context, e *env) ([]figure, error) {
		ctx, cancel := context.WithTimeout(ctx, stormLimit)
		defer cancel()
		waits, took, err := rush(ctx, n, often, name, func() (client, error) {
			return e.contender.open(e.fleet.addresses(e.contender.masters), lease)
		})
		if err != nil {
			return nil, err
		}
		done, err := e.fleet.counters()
		if err != nil {
			return nil, err
		}
		return slices.Concat(
			[]figure{{"throughput", "locks/s", float64(len(waits)) / took.Seconds()}},
			waits.figures("wait", time.Millisecond, 50, 99, 100),
			[]figure{{"connections", "", done["total_connections_received"] / float64(e.contender.masters*n)}},
		), nil
	}
}

// rush has n clients start at the same time and take their names so many times each. It returns all waits,
// and how long it took until the last was over.
func rush(ctx context.Context, n, often int, name func(i int) string, open func() (client, error)) (samples, time.Duration, error) {
	clients, waits := make([]client, n), make([]samples, n)
	// Goroutines: one per client. Each ends when its client has had its locks, or when one has failed;
	// Wait waits for them.
	all, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i := range n {
		all.Go(func() (err error) {
			asked := begun
			if clients[i], err = open(); err != nil {
				return err
			}
			for range often {
				h, err := clients[i].Lock(ctx, name(i))
				if err != nil {
					return err
				}
				now := time.Now()
				waits[i] = append(waits[i], now.Sub(asked))
				_ = h.Unlock(ctx) // who is not answered in time by masters that are late may have given it back
				asked = time.Now()
			}
			return nil
		})
	}
	err := all.Wait()
	took := time.Since(begun)
	var closing errgroup.Group
	for _, cl := range clients {
		if cl != nil {
			closing.Go(cl.Close)
		}
	}
	if closed := closing.Wait(); err == nil {
		err = closed
	}
	return slices.Concat(waits...), took, err
}
