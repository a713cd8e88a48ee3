package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"
)

// One client keeps many locks for a long time, while another locks and unlocks.

// keptN locks are kept with a lease of keptLease.
const (
	keptN     = 10_000
	keptLease = 9 * time.Second
)

func heldTrials() []trial {
	return []trial{{
		scenario: "held",
		setting:  strconv.Itoa(keptN),
		title:    fmt.Sprintf("%d locks held, with a lease of %v, renewed every third of it", keptN, keptLease),
		among:    []string{"redlock", "redsync-ff", "bsm/1", "rueidislock/1"},
		measure:  measureHeld,
	}}
}

// measureHeld measures in an order that keeps the cost of one figure out of the others: the bystander
// without holds, the memory of the holds, what they use in one period, and the bystander with holds.
func measureHeld(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	without, err := bystander(ctx, e, c, 0)
	if err != nil {
		return nil, err
	}
	cl, err := e.open(ctx, c, keptLease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	names := numbered("held:", keptN)
	// Open the keepers' connections now: they do not belong to the holds.
	if err := share(8*keepers, func(i int) error { return cycle(ctx, cl, names[i]) }); err != nil {
		return nil, err
	}

	before := settled(ctx)
	holds, err := takeAll(ctx, cl, names)
	if err != nil {
		return nil, err
	}
	taken := time.Now()
	kept := settled(ctx).since(before)
	runtime.KeepAlive(names) // the names are the caller's, not the holds'

	keeping, cancel := context.WithCancel(ctx)
	period := keptLease / 3
	done := keep(keeping, holds, period)
	defer func() {
		cancel()
		<-done
	}()
	used, err := e.use(ctx, period) // one renewal of each hold, whenever the period begins
	if err != nil {
		return nil, err
	}
	beside, err := bystander(ctx, e, c, period)
	if err != nil {
		return nil, err
	}
	cancel()
	<-done
	held := time.Since(taken)
	lost := unlockAll(ctx, holds)

	n := float64(keptN)
	seconds := n * used.wall.Seconds()
	p50, p99 := micros(beside.percentile(50)), micros(beside.percentile(99))
	return []figure{
		{"client CPU per lock and second", "µs", micros(used.cpu) / seconds},
		{"masters' CPU per lock and second", "µs", micros(used.masters.cpu) / seconds},
		{"on the wire per lock and second", "B", float64(used.masters.wire) / seconds},
		{"commands", "1/s", float64(used.masters.sent(c.plain)) / used.wall.Seconds()},
		{"goroutines per lock", "", float64(kept.goroutines) / n},
		{"heap per lock", "B", float64(kept.heap) / n},
		{"acquire p50 of another", "µs", p50},
		{"acquire p99 of another", "µs", p99},
		{"acquire p50 / without holds", "", p50 / micros(without.percentile(50))},
		{"acquire p99 / without holds", "", p99 / micros(without.percentile(99))},
		{"held for", "s", held.Seconds()},
		{"lost", "locks", float64(lost)},
	}, ctx.Err()
}

// use returns what client and masters use in d.
func (e *env) use(ctx context.Context, d time.Duration) (usage, error) {
	before, err := e.fleet.meters()
	if err != nil {
		return usage{}, err
	}
	sleep(ctx, d)
	return e.fleet.used(before)
}

// bystander returns how long another client, with one caller, takes to acquire a free lock. It takes
// one about every 5 ms for d, and then until ten samples lie above the 99th percentile.
func bystander(ctx context.Context, e *env, c contender, d time.Duration) (_ samples, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	end := time.Now().Add(d)
	acquires, err := rested(ctx, cl, pause{least: 4 * time.Millisecond, spread: 2 * time.Millisecond}, func(n int) bool {
		return n < enough/2 || time.Now().Before(end)
	})
	return acquires, errors.Join(err, ctx.Err())
}
