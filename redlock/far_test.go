package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// farBubble runs f on time of its own, with five masters trip away, there and back, and clients
// that have measured it.
func farBubble(t *testing.T, trip, lease time.Duration, f func(*testing.T, context.Context, *redlocktest.Fleet, []*redlock.Client)) {
	t.Helper()
	t.Run(fmt.Sprintf("%v,lease=%v", trip, lease), func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			fleet := redlocktest.Start(t, 5)
			each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(trip / 2) })
			var clients []*redlock.Client
			for range 3 {
				c := open(t, fleet, redlock.Config{Lease: lease, NodeTimeout: 2 * time.Second})
				clients = append(clients, c)
				warm(t, c)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute) // of those who are never served
			defer cancel()
			f(t, ctx, fleet, clients)
		})
	})
}

// However far away the masters are, a hold that was handed over, by another client or by a caller
// of the same one, is one that stays: neither the short lease that it begins with nor a leap of
// the round trip ends it. Callers are served in the order of their calls.
func TestHandOverOnFarMastersLong(t *testing.T) {
	for _, ms := range []time.Duration{1, 100, 200, 300, 500} {
		for _, lease := range []time.Duration{30 * time.Second, 10 * time.Minute} {
			trip := ms * time.Millisecond
			farBubble(t, trip, lease, func(t *testing.T, ctx context.Context, fleet *redlocktest.Fleet, clients []*redlock.Client) {
				const callers = 5
				r := rand.New(rand.NewPCG(uint64(trip), uint64(lease)))
				for range portion(8) { // rounds
					holder := lock(t, ctx, clients[0], "a")
					var served []int
					var wg sync.WaitGroup
					for i := range callers {
						c := clients[r.IntN(len(clients))]
						stay := time.Duration(r.IntN(3000)+1) * time.Millisecond
						leap := r.IntN(4) == 0
						wg.Go(func() {
							hold := lock(t, ctx, c, "a")
							served = append(served, i)
							if leap {
								each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(trip) })
								time.AfterFunc(time.Second, func() {
									each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(trip / 2) })
								})
							}
							select {
							case <-hold.Context().Done():
								t.Errorf("caller %d lost what was handed over to it", i)
							case <-time.After(stay):
							}
							unlock(t, hold)
						})
						time.Sleep(trip + 10*time.Millisecond) // it has its place in the queue
					}
					unlock(t, holder)
					wg.Wait()
					for i, caller := range served {
						if caller != i {
							t.Fatalf("served %v, want them in the order of their calls", served)
						}
					}
				}
			})
		}
	}
}

// Clients that start at the same time, each on far masters, are all served.
func TestFarClientsThatStartTogether(t *testing.T) {
	for _, ms := range []time.Duration{100, 240, 500} {
		for _, n := range []int{3, 10} {
			trip := ms * time.Millisecond
			t.Run(fmt.Sprintf("%v,clients=%d", trip, n), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					fleet := redlocktest.Start(t, 3)
					r := rand.New(rand.NewPCG(uint64(trip), uint64(n)))
					each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(trip/2 + time.Duration(r.Int64N(int64(trip/20)))) })
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					var wg sync.WaitGroup
					start := time.Now()
					for i := range n {
						c := open(t, fleet, redlock.Config{NodeTimeout: 2 * time.Second})
						wg.Go(func() {
							hold := lock(t, ctx, c, "a")
							time.Sleep(100 * time.Millisecond)
							unlock(t, hold)
							if took, most := time.Since(start), 2*time.Second+time.Duration(n)*(time.Second+3*trip)+10*trip; took > most {
								t.Errorf("client %d was served after %v, want %v at most", i, took, most)
							}
						})
					}
					wg.Wait()
				})
			})
		}
	}
}
