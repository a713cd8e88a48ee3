package redlock_test

import (
	"context"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// The token of a hold is found in its context and below it, and that of the innermost hold
// where there are several.
func TestTokenOfAContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		if got := redlock.Token(t.Context()); got != 0 {
			t.Errorf("Token without a hold = %d, want 0", got)
		}
		outer := lock(t, t.Context(), c, "a")
		type key struct{}
		ctx := context.WithValue(outer.Context(), key{}, 1)
		if got := redlock.Token(ctx); got != outer.Token() || got == 0 {
			t.Errorf("Token below a = %d, want %d", got, outer.Token())
		}
		again := lock(t, ctx, c, "a")
		if got := redlock.Token(again.Context()); got != outer.Token() {
			t.Errorf("Token after re-entry = %d, want %d", got, outer.Token())
		}
		time.Sleep(time.Millisecond)
		inner := lock(t, ctx, c, "b")
		if got := redlock.Token(inner.Context()); got != inner.Token() || got == outer.Token() {
			t.Errorf("Token below a and b = %d, want that of b, %d", got, inner.Token())
		}
		if got := redlock.Token(outer.Context()); got != outer.Token() {
			t.Errorf("Token of a while b is held = %d, want %d", got, outer.Token())
		}
		if err := c.Do(t.Context(), "c", func(ctx context.Context) error {
			if redlock.Token(ctx) == 0 {
				t.Error("no Token in Do")
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
}
