package main

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
)

// renewals is a hold that counts them.
type renewals int

func (*renewals) Unlock(context.Context) error { return nil }

func (n *renewals) Extend(context.Context) error {
	*n++
	return nil
}

func TestKeepRenewsEachOnceInAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holds := make([]hold, 1000)
		for i := range holds {
			holds[i] = new(renewals)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := keep(ctx, holds, 3*time.Second)
		time.Sleep(6*time.Second - time.Nanosecond)
		cancel()
		<-done
		for i, h := range holds {
			if n := *h.(*renewals); n != 2 {
				t.Errorf("hold %d was renewed %d times in two periods, want twice", i, n)
			}
		}
	})
}

// exclusive is a client of one lock, which is held by whoever sent to the channel. It is its own hold. Acquire and
// release take a while.
type exclusive struct {
	lock             chan struct{}
	acquire, release time.Duration
}

func (x exclusive) Lock(ctx context.Context, _ string) (hold, error) {
	select {
	case x.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	time.Sleep(x.acquire)
	return x, nil
}

func (x exclusive) Unlock(context.Context) error {
	time.Sleep(x.release)
	<-x.lock
	return nil
}

func (x exclusive) Close() error { return nil }

// A hand-off lasts from the call of Unlock until the other client has the lock.
func TestTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl := exclusive{make(chan struct{}, 1), 3 * time.Millisecond, 4 * time.Millisecond}
		waits, err := takeTurns(t.Context(), []client{cl, cl}, "name", 10*time.Millisecond, func(n int) bool { return n < 5 })
		const want = 7 * time.Millisecond
		check.That(t, err == nil && len(waits) == 5 && waits.percentile(0) == want && waits.percentile(100) == want, "takeTurns = %v, %v, want 5 hand-offs of %v", waits, err, want)
	})
}

// What is given in a second counts by the time of its own run, whose last caller may be late.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		cl := exclusive{make(chan struct{}, 1), 0, 2 * duration}
		all, rate, _, err := rivals{section: duration}.run(t.Context(), &env{fleet: new(fleet)}, 1, []client{cl}, client.Lock)
		want := float64(len(all)-1) / time.Since(start).Seconds()
		check.That(t, err == nil && want > 0 && rate == want, "%v in a second, %v, want %v", rate, err, want)
	})
}

// All clients start at the same time, which is when the first wait of each begins.
func TestRush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := make(chan struct{}, 1)
		waits, took, err := rush(t.Context(), 3, stormTimes, func(int) string { return "name" }, func() (client, error) {
			time.Sleep(time.Second)
			return exclusive{lock, 30 * time.Millisecond, 20 * time.Millisecond}, nil
		})
		if err != nil || len(waits) != 3*stormTimes {
			t.Fatalf("rush = %d waits, %v, want %d", len(waits), err, 3*stormTimes)
		}
		if want := time.Second + 3*stormTimes*50*time.Millisecond; took != want {
			t.Errorf("it took %v, want %v: they start at once, and hold the lock in turn", took, want)
		}
		slices.Sort(waits)
		if first := time.Second + 30*time.Millisecond; !slices.Contains(waits, first) {
			t.Errorf("waits = %v, want one of %v: starting is part of it", waits, first)
		}
		if shortest := waits[0]; shortest > 130*time.Millisecond {
			t.Errorf("the shortest wait is %v, want at most that for two others: it begins after the Unlock", shortest)
		}
	})
}
