package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A hold is renewed for MaxHold, counted from its last Lock, and then ends with its validity, unless that is
// extended: that is its cause, and in the log.
func TestMaxHold(t *testing.T) {
	const most = time.Minute
	const capped = "was renewed for Config.MaxHold 1m0s, and no longer"
	for name, more := range map[string]func(*testing.T, *redlock.Client, *redlock.Hold) *redlock.Hold{
		"once": nil,
		"in each level": func(t *testing.T, _ *redlock.Client, outer *redlock.Hold) *redlock.Hold {
			time.Sleep(renewEvery / 2)
			inner := got(t, "Enter", outer.Enter, t.Context())
			unlock(t, outer)
			return inner
		},
		"and extended": func(t *testing.T, _ *redlock.Client, hold *redlock.Hold) *redlock.Hold {
			time.Sleep(most)
			expect(t, "Extend", hold.Extend(t.Context(), lease))
			return hold
		},
	} {
		t.Run(name, watched(redlock.Config{MaxHold: most}, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client, w *lines) {
			start, age := time.Now(), most-renewEvery+validity // the renewal that would be due at MaxHold is not made
			hold := lock(t, t.Context(), c, "a")
			if more != nil {
				hold, age = more(t, c, hold), most+validity
			}
			expectEnd(t, hold, start, age, redlock.ErrLost)
			check.Says(t, context.Cause(hold.Context()), capped, "Cause")
			synctest.Wait() // for the log
			got := w.Lines(lostWarning)
			check.That(t, len(got) == 1 && strings.Contains(got[0], capped), "the warnings of loss are %v, want one with %q", got, capped)
			expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
			expectFree(t, fleet, "a")
			expectQuiet(t, fleet)
		}))
	}
}
