package integration

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

var handOffs = flag.Int("handoffs", 40, "how many hand-offs TestFarMasters makes at each distance")

// farther returns the same masters behind wires of their own, whose delay makes a round trip take
// trip.
func (f *fleet) farther(t *testing.T, trip time.Duration) *fleet {
	away := &fleet{t: t, log: newTimeline(t)}
	for _, m := range f.masters {
		at := *m
		at.wire = newWire(t, m.direct)
		at.wire.Slow(trip/2, 0)
		at.addr = at.wire.Addr()
		at.log = away.log
		away.masters = append(away.masters, &at)
	}
	return away
}

// TestFarMasters: the masters are 100 to 500 ms away. Locks are handed over between clients and
// between the callers of one client, and none of them is lost. Clients that start at the same time
// are all served, one after another.
func TestFarMasters(t *testing.T) {
	t.Parallel()
	trips := []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond}
	limit := 3*time.Minute + time.Duration(*handOffs)*2*time.Second
	near := startFleet(begin(t, limit), t, fleetConfig{Masters: 5})
	t.Run("at", func(t *testing.T) { // ends when all parallel subtests have ended
		for _, trip := range trips {
			t.Run(trip.String(), func(t *testing.T) {
				t.Parallel()
				ctx := begin(t, limit)
				f := near.farther(t, trip)
				cfg := redlock.Config{NodeTimeout: 2 * time.Second}
				name := "orders:" + trip.String()
				guarded := &resource{t: t}
				var made, lost atomic.Int64
				var wg sync.WaitGroup
				for c := range 2 {
					client := f.client(cfg)
					for i := range 3 {
						who := int64(3*c + i + 1)
						stays := rand.New(rand.NewPCG(uint64(trip), uint64(who)))
						wg.Go(func() {
							for made.Add(1) <= int64(*handOffs) {
								hold, err := client.Lock(ctx, name)
								if err != nil {
									t.Errorf("Lock = %v", err)
									return
								}
								guarded.use(who, hold)
								stay := time.Duration(stays.Int64N(int64(20 * time.Millisecond)))
								if made.Load()%10 == 0 {
									stay = 2 * time.Second // longer than the short lease of a hand-off
								}
								select {
								case <-hold.Context().Done():
									lost.Add(1)
								case <-time.After(stay):
								}
								if err := hold.Unlock(ctx); err != nil {
									t.Errorf("Unlock = %v", err)
								}
							}
						})
					}
				}
				wg.Wait()
				f.log.event("%d hand-offs at %v, %d lost", *handOffs, trip, lost.Load())
				if lost.Load() > 0 {
					t.Errorf("%d of %d holds were lost", lost.Load(), *handOffs)
				}
				for _, n := range []int{3, 10} {
					t.Run(fmt.Sprintf("%d together", n), func(t *testing.T) {
						clients := make([]*redlock.Client, n)
						for i := range clients {
							clients[i] = f.client(cfg)
						}
						start := time.Now()
						var wg sync.WaitGroup
						for _, client := range clients {
							wg.Go(func() {
								hold, err := client.Lock(ctx, fmt.Sprintf("%s:%d", name, n))
								if err != nil {
									t.Errorf("Lock = %v", err)
									return
								}
								if err := hold.Unlock(ctx); err != nil {
									t.Errorf("Unlock = %v", err)
								}
							})
						}
						wg.Wait()
						took, most := time.Since(start), time.Second+time.Duration(n+10)*2*trip
						f.log.event("%d clients that started together were served in %v", n, took)
						if took > most {
							t.Errorf("%d clients were served in %v, want %v at most", n, took, most)
						}
					})
				}
			})
		}
	})
}
