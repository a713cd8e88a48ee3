package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// One client keeps many locks for a long time.

// keptN locks are kept with a lease of keptLease.
const (
	keptN     = 10_000
	keptLease = 9 * time.Second
)

func measureHeld(ctx context.Context, e *env) ([]figure, error) {
	cl, names := e.clients[0], numbered("held:", keptN)
	// Open the keepers' connections now: they do not belong to the holds.
	if err := share(8*keepers, func(i int) error { return cycle(ctx, cl, names[i]) }); err != nil {
		return nil, err
	}

	before := settled(ctx)
	holds := make([]hold, keptN)
	err := share(keptN, func(i int) (err error) {
		holds[i], err = cl.Lock(ctx, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	kept := settled(ctx)
	runtime.KeepAlive(names) // the names are the caller's, not the holds'

	keeping, stop := context.WithCancel(ctx)
	period := keptLease / 3
	done := keep(keeping, holds, period)
	used, err := e.use(ctx, period) // one renewal of each hold, whenever the period begins
	stop()
	<-done
	if err != nil {
		return nil, err
	}
	// A hold that was lost in between shows here.
	if err := share(keptN, func(i int) error { return holds[i].Unlock(ctx) }); err != nil {
		return nil, err
	}
	seconds := keptN * used.wall.Seconds()
	return []figure{
		{"client CPU per lock and second", "µs", micros(used.cpu) / seconds},
		{"masters' CPU per lock and second", "µs", used.masters.cpu() / seconds},
		{"on the wire per lock and second", "B", used.masters.wire() / seconds},
		{"commands", "1/s", used.masters.sent(e.contender.plain) / used.wall.Seconds()},
		{"goroutines per lock", "", (kept.goroutines - before.goroutines) / keptN},
		{"heap per lock", "B", (kept.heap - before.heap) / keptN},
	}, ctx.Err()
}

// size is how many goroutines and how much memory this process has.
type size struct {
	goroutines float64
	heap       float64 // bytes in use
}

// settling is how long late answers may take to arrive, and connections to close.
const settling = 250 * time.Millisecond

// settled waits until earlier work has ended, and returns what remains.
func settled(ctx context.Context) size {
	sleep(ctx, settling)
	// Twice: a sync.Pool drops its items at the second collection.
	runtime.GC()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return size{goroutines: float64(runtime.NumGoroutine()), heap: float64(memory.HeapAlloc)}
}

// keepers is how many goroutines take, renew and release many locks at once.
const keepers = 64

// share has the keepers call do(0) to do(n-1) between them, and returns the first error.
func share(n int, do func(i int) error) error {
	var group errgroup.Group
	for k := range keepers {
		group.Go(func() error {
			for i := k; i < n; i += keepers {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// keep renews holds whose library does not renew them, each once per period and evenly spread, until
// ctx ends. It then closes the channel. A renewal that fails shows when the lock is released.
func keep(ctx context.Context, holds []hold, period time.Duration) <-chan struct{} {
	done := make(chan struct{})
	if _, ok := holds[0].(renewer); !ok {
		close(done)
		return done
	}
	start := time.Now()
	go func() {
		defer close(done)
		for round := 0; ctx.Err() == nil; round++ {
			_ = share(len(holds), func(i int) error {
				due := time.Duration(round)*period + period*time.Duration(i)/time.Duration(len(holds))
				sleep(ctx, time.Until(start.Add(due)))
				if ctx.Err() == nil {
					_ = holds[i].(renewer).Extend(ctx)
				}
				return ctx.Err()
			})
		}
	}()
	return done
}

// Clients that have locked before and now do nothing, or wait. A client of redlock that does nothing checks its masters
// every 12 to 18 s: in a window of 15 s that begins 15 s after its lock it does so once, on average.
const (
	idleN    = 1000
	waitingN = 300
	idleFor  = 15 * time.Second

	longLease = 2 * lease // longer than the measurement

	idleRounds = 6 // of three minutes
)

// measureIdle measures what n clients that do nothing cost the masters, or n that wait for a lock of the client that is
// open: masters ask their system for the time and much else ten times a second even without them.
func measureIdle(n int, wait bool) measurement {
	return func(ctx context.Context, e *env) (_ []figure, err error) {
		sleep(ctx, settling)
		alone, err := e.use(ctx, idleFor)
		if err != nil {
			return nil, err
		}
		clients, closeAll, err := e.open(ctx, n, longLease)
		if err != nil {
			return nil, err
		}
		defer closing(closeAll, &err)
		if wait {
			var giveUp func() error
			if giveUp, err = queue(ctx, e.clients[0], clients); err != nil {
				return nil, err
			}
			defer closing(giveUp, &err)
		}
		sleep(ctx, idleFor)
		used, err := e.use(ctx, idleFor)
		if err != nil {
			return nil, err
		}
		each := float64(n*e.contender.masters) * used.wall.Seconds()
		return []figure{{"one master's CPU per client and second", "µs", (used.masters.cpu() - alone.masters.cpu()) / each}}, nil
	}
}

// queue has the waiters wait for a lock of the holder's, until giveUp.
func queue(ctx context.Context, holder client, waiters []client) (giveUp func() error, err error) {
	const name = "bench:waited for"
	h, err := holder.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithCancel(ctx)
	var all errgroup.Group
	for _, cl := range waiters {
		all.Go(func() error {
			if _, err := cl.Lock(waiting, name); err == nil {
				return errors.New("a waiter got what another client holds")
			}
			return nil
		})
	}
	return func() error {
		cancel()
		return errors.Join(all.Wait(), h.Unlock(ctx))
	}, nil
}

// Names that one client locks again and again, and what it costs others that it keeps them. A client that keeps
// locks subscribes first.

func measureSameName(ctx context.Context, e *env) ([]figure, error) {
	sleep(ctx, duration/2)
	return e.measureLocks(ctx, []string{"bench:same"})
}

// measureAlternating has a client lock what the other has given back, or keeps, having taken it over.
func measureAlternating(ctx context.Context, e *env) ([]figure, error) {
	sleep(ctx, duration/2)
	s := newTimings()
	err := s.run(ctx, duration, func(ctx context.Context, i int) (hold, error) {
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
