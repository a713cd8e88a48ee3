package integration

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// keepBusy has eight goroutines lock and unlock one name until the test ends. It counts in locks.
func (f *fleet) keepBusy(ctx context.Context, client *redlock.Client, locks *atomic.Int64) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				hold, err := client.Lock(ctx, "busy")
				if ctx.Err() != nil {
					return // Close releases what the last Lock took
				}
				if err != nil {
					f.t.Errorf("Lock = %v", err)
					return
				}
				if err := hold.Unlock(ctx); err != nil && ctx.Err() == nil {
					f.log.event("Unlock = %v", err)
				}
				locks.Add(1)
			}
		})
	}
	f.t.Cleanup(func() { cancel(); wg.Wait() })
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // frees objects that had a finalizer
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// mustRenew holds the name that keepBusy uses until the hold has been renewed for the first time
// after the fault. handOver then passes the lock to the callers that wait for it. mustRenew keeps
// holding another name.
func mustRenew(ctx context.Context, t *testing.T, client *redlock.Client, fault func()) (handOver func()) {
	t.Helper()
	mustLock(ctx, t, client, "renewed")
	hold := mustLock(ctx, t, client, "busy")
	fault()
	until := hold.Until()
	eventually(ctx, t, 10*time.Second, "a renewal", func() error {
		if !hold.Until().After(until) {
			return errors.New("not renewed")
		}
		return nil
	})
	return func() { mustUnlock(ctx, t, hold) }
}

// TestDeadMasterCostsNoMemory: one of five masters is dead, under load and with a hold that is
// renewed. What is kept for the dead master does not grow with the number of locks.
func TestDeadMasterCostsNoMemory(t *testing.T) {
	span := time.Minute
	if testing.Short() {
		span = 5 * time.Second
	}
	ctx := begin(t, span+time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	client := f.client(redlock.Config{Lease: 3 * time.Second, MaxLease: 10 * time.Minute, NodeTimeout: time.Second})
	handOver := mustRenew(ctx, t, client, func() { f.masters[0].kill(ctx, t) })
	var locks atomic.Int64
	f.keepBusy(ctx, client, &locks)
	time.Sleep(100 * time.Millisecond)
	handOver()
	time.Sleep(2 * time.Second) // until everything that is reused is allocated, and the hold is renewed
	before, made := heap(), locks.Load()
	time.Sleep(span)
	after := heap()
	made = locks.Load() - made
	each := (float64(after) - float64(before)) / float64(made)
	f.log.event("%d locks in %v: the heap grew from %d by %.0f B for each", made, span, before, each)
	const noise = 300 << 10 // how much the heap of an idle client varies
	if after > before+noise+100*uint64(made) {
		t.Errorf("the heap grew by %.0f B for each of %d locks, want less than 100 B", each, made)
	}
}

// TestReturnUnderLoad: a master that comes back votes soon, near or far, while the load goes on.
func TestReturnUnderLoad(t *testing.T) {
	ctx := begin(t, 2*time.Minute)
	near := startFleet(ctx, t, fleetConfig{Masters: 5})
	for _, delay := range []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			f := near.farther(t, 0)
			f.masters[0].wire.Slow(delay, 0) // the others are near, so more releases come than it answers in a round trip
			client := f.client(redlock.Config{Lease: 3 * time.Second, NodeTimeout: time.Second})
			back := f.masters[0]
			handOver := mustRenew(ctx, t, client, func() { back.kill(ctx, t) })
			var locks atomic.Int64
			f.keepBusy(ctx, client, &locks)
			time.Sleep(100 * time.Millisecond)
			handOver()
			time.Sleep(2 * time.Second)
			made := locks.Load()
			back.start(ctx, t)
			start := time.Now()
			for voted := false; !voted; {
				hold := mustLock(ctx, t, client, "probe")
				time.Sleep(2*delay + 10*time.Millisecond) // it need not be among the fastest
				voted = back.do(t, "EXISTS", "probe") == int64(1)
				mustUnlock(ctx, t, hold)
				if took := time.Since(start); took > 5*time.Second {
					t.Fatalf("no vote within %v of the return", took)
				}
			}
			f.log.event("voted %v after its return, with a delay of %v, at %d locks", time.Since(start), delay, locks.Load()-made)
		})
	}
}
