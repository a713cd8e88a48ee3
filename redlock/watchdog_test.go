package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestWatchdogRenewsEveryThird(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		synctest.Wait()
		before := scripts(fleet)
		for round := int64(1); round <= 10; round++ {
			time.Sleep(renewEvery - 1)
			if got := hold.Remaining(); got != validity-renewEvery+1 {
				t.Errorf("Remaining before round %d = %v, want %v", round, got, validity-renewEvery+1)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if got := hold.Remaining(); got != validity {
				t.Errorf("Remaining after round %d = %v, want %v", round, got, validity)
			}
			if got := scripts(fleet) - before; got != 3*round {
				t.Errorf("%d scripts by round %d, want one a round on each master", got, round)
			}
		}
		expectCount(t, fleet, hold, "1", 1)
	})
}

// The context ends with the validity that was confirmed last: not at the next round, and
// not a nanosecond later.
func TestContextEndsWithValidity(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"dead":              (*redlocktest.Master).Kill,
		"frozen":            (*redlocktest.Master).Freeze,
		"cut off":           (*redlocktest.Master).Cut,
		"refuses to write":  func(m *redlocktest.Master) { m.Refuse("MISCONF Errors writing to the AOF file") },
		"turned replica":    func(m *redlocktest.Master) { m.SetRole("slave") },
		"answers too late":  func(m *redlocktest.Master) { m.Delay(nodeTimeout) },
		"one end is frozen": func(m *redlocktest.Master) { m.Cut(); m.Freeze() },
	} {
		for _, at := range []time.Duration{0, time.Second, 10*time.Second - 1, 10*time.Second + 1, 11 * time.Second, 25 * time.Second} {
			t.Run(fmt.Sprintf("%s/%v", name, at), func(t *testing.T) {
				bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					start := time.Now()
					hold := lock(t, t.Context(), c, "a")
					synctest.Wait()
					time.Sleep(at)
					each(fleet, 0, 3, fault)
					confirmed := at.Truncate(renewEvery)
					expectEnd(t, hold, start, confirmed+validity, redlock.ErrLost)
					if got := hold.Remaining(); got != 0 || hold.Count() != 0 {
						t.Errorf("Remaining, Count = %v, %d, want none", got, hold.Count())
					}
					expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrNoQuorum)
					expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
				})
			})
		}
	}
}

// A renewal that is confirmed after the validity ended does not bring the hold back.
func TestLateRenewalDoesNotCount(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		c := open(t, fleet, redlock.Config{NodeTimeout: 25 * time.Second})
		warm(t, c)
		start := time.Now()
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(time.Second)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Second) })
		// Sent at 10s, carried out at 20s, answered at 30s: 302ms after the end.
		expectEnd(t, hold, start, validity, redlock.ErrLost)
		time.Sleep(lease)
		if got := hold.Remaining(); got != 0 {
			t.Errorf("Remaining = %v, want 0", got)
		}
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(0) })
		time.Sleep(lease)
		expectFree(t, fleet, "a")
	})
}
