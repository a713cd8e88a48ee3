package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// exclusive is a client of one lock, which is held by whoever sent to the channel. Acquire and release
// take a while. A hold is valid for valid, or forever if that is zero.
type exclusive struct {
	lock             chan struct{}
	acquire, release time.Duration
	valid            time.Duration
}

func (x exclusive) Lock(ctx context.Context, _ string) (hold, error) {
	select {
	case x.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	time.Sleep(x.acquire)
	if x.valid == 0 {
		return x, nil
	}
	return expiring{x, time.Now().Add(x.valid)}, nil
}

func (x exclusive) Unlock(context.Context) error {
	time.Sleep(x.release)
	<-x.lock
	return nil
}

func (x exclusive) Close() error { return nil }

// expiring is a hold that says until when it is valid.
type expiring struct {
	exclusive
	until time.Time
}

func (e expiring) Until() time.Time { return e.until }

// A hand-off lasts from the call of Unlock until the other client has the lock. A hold whose validity
// ended before Unlock was lost.
func TestTakeTurns(t *testing.T) {
	for _, c := range []struct {
		name  string
		valid time.Duration
		lost  int
	}{
		{"valid forever", 0, 0},
		{"valid for longer than it is ever kept", 21 * time.Millisecond, 0},
		{"valid for no longer than it is always kept", 10 * time.Millisecond, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := exclusive{make(chan struct{}, 1), 3 * time.Millisecond, 4 * time.Millisecond, c.valid}
				got, err := takeTurns(t.Context(), []client{cl, cl}, "name", pause{10 * time.Millisecond, 10 * time.Millisecond}, func(n int) bool { return n < 5 })
				if err != nil {
					t.Fatalf("takeTurns = %v", err)
				}
				waits := got.waits
				if n, least, most := len(waits), waits.percentile(0), waits.percentile(100); n != 5 || least != 7*time.Millisecond || most != least {
					t.Errorf("%d hand-offs took %v to %v, want 5 of 7ms", n, least, most)
				}
				if len(got.lost) != c.lost {
					t.Errorf("lost %d holds, want %d: %v", len(got.lost), c.lost, got.lost)
				}
			})
		})
	}
}
