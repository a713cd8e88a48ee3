package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// section is how long a caller keeps what it took, on average: half of it at least, and as much again at most.
const section = 5 * time.Millisecond

// crowd has so many callers of each client take something again and again, for d. It returns how long each
// of them waited for it, in order.
func crowd(t *testing.T, clients []*redlock.Client, callers int, d time.Duration,
	take func(context.Context, *redlock.Client) (*redlock.Hold, error),
) (waits []time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i, c := range clients {
		for j := range callers {
			r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			wg.Go(func() {
				for {
					start := time.Now()
					hold, err := take(ctx, c)
					if err != nil {
						return
					}
					mu.Lock()
					waits = append(waits, time.Since(start))
					mu.Unlock()
					pause(r, section)
					time.Sleep(section / 2)
					unlock(t, hold)
				}
			})
		}
	}
	wg.Wait()
	slices.Sort(waits)
	return waits
}

// K permits let nearly K times as many in as a lock, however many callers want one, and also while a
// minority of the masters is dead; and nobody waits for much longer than the others.
func TestPermitsAreUsed(t *testing.T) {
	const d = 500 * time.Millisecond
	for dead, least := range []float64{0.8, 0.8 * 0.6} {
		for _, tt := range []struct{ clients, callers, permits int }{
			{6, 3, 8}, {6, 3, 18}, {6, 1, 4}, {6, 1, 6},
		} {
			t.Run(fmt.Sprintf("dead=%d/callers=%dx%d/K=%d", dead, tt.clients, tt.callers, tt.permits), func(t *testing.T) {
				bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					clients := []*redlock.Client{c}
					for len(clients) < tt.clients {
						clients = append(clients, open(t, fleet, redlock.Config{}))
					}
					each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(section / 20) })
					each(fleet, 0, dead, (*redlocktest.Master).Kill)
					lock := crowd(t, clients, tt.callers, d, func(ctx context.Context, c *redlock.Client) (*redlock.Hold, error) {
						return c.Lock(ctx, "gpu")
					})
					waits := crowd(t, clients, tt.callers, d, func(ctx context.Context, c *redlock.Client) (*redlock.Hold, error) {
						return c.Semaphore("gpu", tt.permits).Acquire(ctx)
					})
					used := float64(len(waits)) / float64(len(lock)*min(tt.permits, tt.clients*tt.callers))
					var mean time.Duration
					for _, w := range waits {
						mean += w / time.Duration(len(waits))
					}
					p99 := waits[len(waits)*99/100]
					t.Logf("%d permits and %d locks: %.2f of the most; waits %v on average, p99 %v, at most %v",
						len(waits), len(lock), used, mean, p99, waits[len(waits)-1])
					if used < least {
						t.Errorf("%d permits, and %d times the lock: %.2f of K times as many, want %.2f", len(waits), len(lock), used, least)
					}
					if p99 > mean+3*section {
						t.Errorf("p99 of the waits is %v, the mean %v", p99, mean)
					}
				})
			})
		}
	}
}
