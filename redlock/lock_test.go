package redlock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// What happens to some masters, or to a caller, costs others nothing.

// A minority that is dead, silent or slow costs nobody time: neither a caller who locks, nor one who is handed
// the lock, however long it lasts.
func TestMinorityCostsNoTime(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
		"dead":    (*redlocktest.Master).Kill,
		"slow":    func(m *redlocktest.Master) { m.Delay(time.Second) },
	} {
		t.Run(name, bubble(5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			const trip = 2 * time.Millisecond
			d := open(t, fleet, redlock.Config{})
			use(t, c, "warm")
			use(t, d, "warm")
			each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(trip / 2) })
			hold := lock(t, t.Context(), c, "handed over")
			next := locking(t, d, "handed over")
			time.Sleep(1037 * time.Millisecond)
			each(fleet, 0, 2, fault)
			start := time.Now()
			go hold.Unlock(t.Context())
			hold = next.returned(t)
			check.Equal(t, time.Since(start), trip, "the next holder had the lock after")
			for range 20 {
				start := time.Now()
				unlock(t, lock(t, t.Context(), c, "a"))
				check.Equal(t, time.Since(start), 2*trip, "two round trips: Lock and Unlock took")
				time.Sleep(100 * time.Millisecond)
			}
			expectAlive(t, hold)
		}))
	}
}

// Only one of a client's callers asks the masters, however many wait.
func TestManyCallersCostOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // not beside others, whose goroutines would count
		fleet := redlocktest.Start(t, 3)
		c, d := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
		hold := lock(t, t.Context(), d, "a", redlock.Lease(lease))

		const callers, served = 1000, 100
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		goroutines := runtime.NumGoroutine()
		done := make(chan error, callers)
		inside := 0
		for range callers {
			go func() {
				done <- c.Do(ctx, "a", func(context.Context) error {
					if inside++; inside == served { // the race detector checks exclusion here
						cancel()
					}
					return nil
				})
			}()
		}
		synctest.Wait()
		check.AtMost(t, runtime.NumGoroutine()-goroutines, callers+100, "goroutines of callers that wait")
		check.AtMost(t, fleet.Master(0).Connections(), 4, "connections of a master")
		before := fleet.Master(0).Calls("EVALSHA")
		time.Sleep(10 * time.Second)
		// A contender asks after 200 ms, then ever more seldom, and from 0.8 s on every 400 ms.
		// Each pause is up to 50 ms shorter, so that asks of many names come together.
		check.Between(t, fleet.Master(0).Calls("EVALSHA")-before, 25, 30, "scripts that %d callers who wait ran in 10s", callers)
		unlock(t, hold)
		for range callers {
			if err := <-done; err != nil {
				expect(t, "Do", err, context.Canceled)
			}
		}
		check.AtLeast(t, inside, served, "callers that were inside")
	})
}
