package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A master that was frozen or cut off costs a caller nothing, however long it lasts.
func TestMinorityCostsNoTime(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
		"dead":    (*redlocktest.Master).Kill,
		"slow":    func(m *redlocktest.Master) { m.Delay(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				warm(t, c)
				each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
				each(fleet, 0, 2, fault)
				for range 20 {
					start := time.Now()
					unlock(t, lock(t, t.Context(), c, "a"))
					if got := time.Since(start); got != 4*time.Millisecond {
						t.Errorf("Lock and Unlock took %v, want two round trips of 2ms", got)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		})
	}
}

// A deadline at any moment of a try leaves no key, however slow each master is.
func TestDeadlineLeavesNothing(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				r := rand.New(rand.NewPCG(seed, 0))
				for range 20 {
					each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(time.Duration(r.Int64N(int64(50 * time.Millisecond)))) })
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.Int64N(int64(100*time.Millisecond))))
					hold, err := c.Lock(ctx, "a")
					cancel()
					if err == nil {
						unlock(t, hold)
					}
					time.Sleep(300 * time.Millisecond)
					expectFree(t, fleet, "a")
				}
			})
		})
	}
}

// A master that was dead all along got nothing, so nothing is owed to it when it comes back:
// neither for holds that were renewed, nor for locks that were handed over, nor for callers that
// gave up or never got the lock.
func TestDeadMasterIsOwedNothing(t *testing.T) {
	bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		warm(t, c)
		warm(t, d)
		for _, pair := range [][2]*redlock.Client{{c, d}, {d, c}} { // subscriptions work
			hold := lock(t, t.Context(), pair[0], "warm too")
			next := waitFor(t, func(ctx context.Context) (*redlock.Hold, error) { return pair[1].Lock(ctx, "warm too") })
			unlock(t, hold)
			unlock(t, next.returned(t))
		}
		synctest.Wait()
		dead := fleet.Master(4)
		dead.Kill()
		time.Sleep(settle)

		hold := lock(t, t.Context(), c, "a")
		next := writer(t, d) // in the masters' queue
		time.Sleep(time.Millisecond)
		local := writer(t, c) // in the client's own
		time.Sleep(2 * renewEvery)
		unlock(t, hold)
		hold = next.returned(t)
		time.Sleep(2 * renewEvery)
		unlock(t, hold)
		hold = local.returned(t)
		if _, err := d.TryLock(t.Context(), "a"); err == nil {
			t.Error("TryLock takes a lock that is held")
		}
		time.Sleep(2 * renewEvery)
		unlock(t, hold)
		synctest.Wait()

		dead.RestartWithData()
		before := dead.Calls("EVALSHA")
		time.Sleep(settle)
		if n := dead.Calls("EVALSHA") - before; n != 0 {
			t.Errorf("the dead master was owed %d script calls, want none", n)
		}
	})
}
