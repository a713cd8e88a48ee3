package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// Clients that have just been started all want one name at once, as after a deployment or an outage.

const (
	herdTimes = 5 // that each client takes the lock
	herdLimit = time.Minute
)

func herdTrials() []trial {
	var trials []trial
	for _, n := range []int{32, 300, 1000} {
		trials = append(trials, trial{
			scenario: "herd",
			setting:  strconv.Itoa(n),
			title: fmt.Sprintf("%d clients start at once, and each takes one name %d times, held for 0 ms each time; starting is part of the first wait; a client waits up to %v for one master's answer; failed: not done after %v",
				n, herdTimes, remotePatience, herdLimit),
			among: []string{"redlock", "redsync-ff"},
			limit: herdLimit,
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureHerd(ctx, e, c, n)
			},
		})
	}
	return trials
}

// measureHerd measures herds, each with new clients and a name of its own, until there was enough time
// for small ones too.
func measureHerd(ctx context.Context, e *env, c contender, n int) ([]figure, error) {
	var all samples
	var took time.Duration
	for i := 0; took < 2*e.duration; i++ {
		waits, d, err := rush(ctx, n, fmt.Sprintf("herd:%d", i), func() (client, error) {
			return c.open(e.fleet.addresses(c.masters), times{lease, remotePatience})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, waits...)
		took += d
	}
	return []figure{
		{"throughput", "locks/s", float64(len(all)) / took.Seconds()},
		{"wait p50", "ms", millis(all.percentile(50))},
		{"wait p99", "ms", millis(all.percentile(99))},
		{"wait max", "ms", millis(all.percentile(100))},
	}, nil
}

// rush has n clients start at the same time and take name herdTimes times each. It returns all waits,
// and how long it took until the last was over.
func rush(ctx context.Context, n int, name string, open func() (client, error)) (samples, time.Duration, error) {
	clients, waits := make([]client, n), make([]samples, n)
	// Goroutines: one per client. Each ends when its client has had its locks, or when one has failed;
	// Wait waits for them.
	herd, ctx := errgroup.WithContext(ctx)
	begun := time.Now()
	for i := range n {
		herd.Go(func() (err error) {
			asked := begun
			if clients[i], err = open(); err != nil {
				return err
			}
			for range herdTimes {
				h, err := clients[i].Lock(ctx, name)
				if err != nil {
					return err
				}
				now := time.Now()
				waits[i] = append(waits[i], now.Sub(asked))
				if err := h.Unlock(ctx); err != nil {
					return err
				}
				asked = time.Now()
			}
			return nil
		})
	}
	err := herd.Wait()
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
