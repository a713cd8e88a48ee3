package redlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// capped is what the cause of a hold that reached MaxHold says.
const capped = "was renewed for Config.MaxHold 1m0s, and no longer"

// renewedFor wants the hold, which was locked at start, to end with MaxHold as the cause,
// at that age.
func renewedFor(t *testing.T, w *lines, ctx context.Context, start time.Time, age time.Duration) {
	t.Helper()
	over(t, ctx)
	if got := time.Since(start); got != age {
		t.Errorf("the context ended after %v, want %v", got, age)
	}
	err := context.Cause(ctx)
	expect(t, "Cause", err, redlock.ErrLost)
	if !strings.Contains(err.Error(), capped) {
		t.Errorf("Cause = %q, want %q in it", err, capped)
	}
	if got := w.of(lostWarning); len(got) != 1 || !strings.Contains(got[0], capped) {
		t.Errorf("the warnings of loss are %v, want one with %q", got, capped)
	}
}

func TestMaxHold(t *testing.T) {
	const most = time.Minute
	for name, test := range map[string]func(*testing.T, *redlocktest.Fleet, *redlock.Client, *lines){
		"ends the renewals": func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client, w *lines) {
			start := time.Now()
			hold := lock(t, t.Context(), c, "a")
			renewedFor(t, w, hold.Context(), start, most-renewEvery+validity) // the renewal that would be due at MaxHold is not made
			expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
			expectFree(t, fleet, "a")
			expectQuiet(t, fleet)
		},
		"counts for each level": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client, w *lines) {
			start := time.Now()
			outer := lock(t, t.Context(), c, "a")
			time.Sleep(renewEvery / 2)
			inner := lock(t, outer.Context(), c, "a")
			unlock(t, outer)
			renewedFor(t, w, inner.Context(), start, most+validity)
		},
	} {
		t.Run(name, func(t *testing.T) {
			watched(t, redlock.Config{MaxHold: most}, test)
		})
	}
}
