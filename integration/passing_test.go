package integration

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestPassUnderFaults hurts one or two of five durable masters at a time while there is always a
// queue, so that masters fail between a hand-off and its message. Everybody is served in the end, one
// at a time, and nothing is left behind.
func TestPassUnderFaults(t *testing.T) {
	ctx := begin(t, time.Minute)
	random := randomness(t)
	f := startFleet(ctx, t, fleetConfig{Masters: 5, Durable: true, Wires: true})
	const clients, callers = 4, 3
	guarded := &resource{t: t}
	working, done := context.WithCancel(ctx)
	defer done()
	var turns [clients * callers]int
	var wg sync.WaitGroup
	for c := range clients {
		client := f.client(redlock.Config{Lease: 5 * time.Second})
		for g := range callers {
			wg.Go(func() {
				who := c*callers + g
				for working.Err() == nil {
					hold, err := client.Lock(ctx, "orders:42")
					if err != nil {
						t.Errorf("%d: Lock = %v", who, err)
						return
					}
					guarded.use(int64(who+1), hold)
					// A master that has just come back may be the third that does not answer. The
					// release is then repeated.
					if err := hold.Unlock(ctx); err != nil && !errors.Is(err, redlock.ErrNoQuorum) {
						t.Errorf("%d: Unlock = %v", who, err)
						return
					}
					turns[who]++
				}
			})
		}
	}
	for range 8 {
		f.hurt(ctx, t, random)
	}
	done()
	wg.Wait() // until every waiter has been served
	f.log.event("turns by caller: %v", turns)
	var total int64
	for who, n := range turns {
		total += int64(n)
		if n == 0 {
			t.Errorf("caller %d was never served", who)
		}
	}
	if got := guarded.counter.Load(); got != total {
		t.Errorf("counter = %d after %d turns", got, total)
	}
	f.wantFree(ctx, t, f.masters, "orders:42", queueOf("orders:42"))
}
