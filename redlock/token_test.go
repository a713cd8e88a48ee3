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

// A lock whose token is agreed on too late is asked for again.
func TestTokenThatComesTooLate(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		apart := func(name string) {
			for i, m := range fleet.Masters() {
				m.Set("redlock_fence:{"+name+"}", fmt.Sprint(5_000_000_000_000_000+10*i))
			}
		}
		apart("scripts")
		unlock(t, lock(t, t.Context(), c, "scripts"))
		synctest.Wait()
		apart("a")
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(30 * time.Millisecond) })
		locked := make(chan error, 2)
		for range cap(locked) {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				hold, err := c.LockFor(ctx, "a", 100*time.Millisecond) // a round trip and a raise are 120 ms
				if err == nil {
					_ = hold.Unlock(ctx) // it may have ended
				}
				locked <- err
			}()
		}
		time.Sleep(time.Second)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(0) })
		time.Sleep(10 * time.Second)
		if len(locked) != cap(locked) {
			t.Error("callers still wait for a lock that is free")
		}
		for range cap(locked) {
			expect(t, "LockFor", <-locked)
		}
	})
}
