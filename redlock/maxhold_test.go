package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A hold is renewed for MaxHold, counted from its last Lock, and then ends with its validity: that is its cause, and
// in the log.
func TestMaxHold(t *testing.T) {
	const most = time.Minute
	const capped = "was renewed for Config.MaxHold 1m0s, and no longer"
	for name, again := range map[string]bool{"of one level": false, "of each level": true} {
		t.Run(name, func(t *testing.T) {
			watched(t, redlock.Config{MaxHold: most}, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client, w *lines) {
				start, age := time.Now(), most-renewEvery+validity // the renewal that would be due at MaxHold is not made
				hold := lock(t, t.Context(), c, "a")
				if again {
					time.Sleep(renewEvery / 2)
					inner := lock(t, hold.Context(), c, "a")
					unlock(t, hold)
					hold, age = inner, most+validity
				}
				expectEnd(t, hold, start, age, redlock.ErrLost)
				expectSays(t, "Cause", context.Cause(hold.Context()), capped)
				synctest.Wait() // for the log
				if got := w.of(lostWarning); len(got) != 1 || !strings.Contains(got[0], capped) {
					t.Errorf("the warnings of loss are %v, want one with %q", got, capped)
				}
				expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
				expectFree(t, fleet, "a")
				expectQuiet(t, fleet)
			})
		})
	}
}
