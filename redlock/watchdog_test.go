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
