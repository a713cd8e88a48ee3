package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

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
		waits, err := takeTurns(t.Context(), []client{cl, cl}, "name", func(n int) bool { return n < 5 })
		const want = 7 * time.Millisecond
		if err != nil || len(waits) != 5 || waits.percentile(0) != want || waits.percentile(100) != want {
			t.Errorf("takeTurns = %v, %v, want 5 hand-offs of %v", waits, err, want)
		}
	})
}
