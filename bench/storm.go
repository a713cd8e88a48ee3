package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// Clients that start all at once on masters that have just started, as after a deployment or an outage.

const (
	stormTimes = 5 // that each client takes the one name
	stormLimit = time.Minute
)

func stormTrials() []trial {
	storm := func(setting, title string, n, often int, name func(i int) string) trial {
		return trial{
			scenario: "storm",
			setting:  setting,
			title: fmt.Sprintf("%s, held for 0 ms each time; the masters have just started, and starting is part of the first wait; connections: that one master was asked for, for each client; failed: not done after %v",
				title, stormLimit),
			among: []string{"redlock", "redsync-ff", "redsync"},
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureStorm(ctx, e, c, n, often, name)
			},
		}
	}
	var trials []trial
	for _, n := range []int{32, 300, 1000} {
		trials = append(trials, storm(strconv.Itoa(n), fmt.Sprintf("%d clients start at once, and each takes one name %d times", n, stormTimes),
			n, stormTimes, func(int) string { return "storm" }))
	}
	return append(trials, storm("2000 names", "2000 clients start at once, and each takes a name of its own once",
		2000, 1, func(i int) string { return fmt.Sprint("storm:", i) }))
}

// measureStorm measures one storm on masters of its own.
func measureStorm(ctx context.Context, e *env, c contender, n, often int, name func(i int) string) (_ []figure, err error) {
	ctx, cancel := context.WithTimeout(ctx, stormLimit)
	defer cancel()
	fleet, err := startFleet(ctx, e.fleet.program, mastersN)
	if err != nil {
		return nil, err
	}
	defer closing(fleet.close, &err)
	waits, took, err := rush(ctx, n, often, name, func() (client, error) {
		return c.open(fleet.addresses(c.masters), lease)
	})
	if err != nil {
		return nil, err
	}
	done, err := fleet.counters()
	if err != nil {
		return nil, err
	}
	return []figure{
		{"throughput", "locks/s", float64(len(waits)) / took.Seconds()},
		{"wait p50", "ms", millis(waits.percentile(50))},
		{"wait p99", "ms", millis(waits.percentile(99))},
		{"wait max", "ms", millis(waits.percentile(100))},
		{"connections", "", done["total_connections_received"] / float64(c.masters*n)},
	}, nil
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
