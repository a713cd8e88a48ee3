package redlock_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// At the instant at which validity ends, Err of a hold's context says so whether or not the timer
// has fired yet, and so does Unlock: which of the two comes first is up to the scheduler, so it is tried often.
func TestErrDoesNotWaitForTheTimer(t *testing.T) {
	bubble(1, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		for i := range 400 {
			hold := lock(t, t.Context(), c, strconv.Itoa(i), redlock.Lease(time.Second))
			time.Sleep(hold.Remaining())
			if i%2 == 0 {
				expect(t, "Unlock at the end of validity", hold.Unlock(t.Context()), redlock.ErrLost)
			} else if hold.Context().Err() == nil {
				t.Error("Err is nil at the end of validity")
			}
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		}
	})(t)
}

// counting counts how often it is asked for a value.
type counting struct {
	context.Context
	asked *int
}

func (c counting) Value(key any) any {
	*c.asked++
	return c.Context.Value(key)
}

// What no context has is looked for once, however many functions run under locks of one another.
func TestContextsInOneAnother(t *testing.T) {
	bubble(1, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		asked := 0
		var under func(ctx context.Context, n int) error
		under = func(ctx context.Context, n int) error {
			if n > 0 {
				return c.Do(ctx, strconv.Itoa(n), func(ctx context.Context) error { return under(ctx, n-1) })
			}
			asked = 0
			check.Equal(t, ctx.Value(t), nil, "the value of an unknown key")
			check.Equal(t, asked, 1, "how often the caller's context was asked")
			return nil
		}
		expect(t, "Do", under(counting{t.Context(), &asked}, 8))
	})(t)
}

// The token of a hold is found in its context and below it, and so is the slot of a permit: those of the innermost
// hold, and of the innermost permit, where there are several.
func TestWhatAContextTells(t *testing.T) {
	bubble(3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		outer := lock(t, t.Context(), c, "a")
		type key struct{}
		below := context.WithValue(outer.Context(), key{}, 1)
		again := got(t, "Enter", outer.Enter, below)
		time.Sleep(time.Millisecond)
		inner := lock(t, below, c, "b")
		one := acquire(t, c, "gpu", 2)
		two := lock(t, one.Context(), c, "gpu", redlock.Permits(2))
		check.That(t, one.Slot() != two.Slot() && inner.Token() != outer.Token(), "slots %d and %d, tokens %d and %d; want others", one.Slot(), two.Slot(), outer.Token(), inner.Token())
		underOne, underTwo := lock(t, one.Context(), c, "c"), lock(t, two.Context(), c, "d")
		for _, tt := range []struct {
			what   string
			ctx    context.Context
			hold   *redlock.Hold // whose token it tells
			permit *redlock.Hold // whose slot it tells
		}{
			{"no hold", t.Context(), nil, nil},
			{"a lock", outer.Context(), outer, nil},
			{"what is below it", below, outer, nil},
			{"its re-entry", again.Context(), outer, nil},
			{"another lock under it", inner.Context(), inner, nil},
			{"a permit", one.Context(), one, one},
			{"another permit under it", two.Context(), two, two},
			{"a lock under a permit", underOne.Context(), underOne, one},
			{"a lock under both permits", underTwo.Context(), underTwo, two},
		} {
			var token int64
			if tt.hold != nil {
				token = tt.hold.Token()
			}
			check.Equal(t, redlock.Token(tt.ctx), token, "Token of %s", tt.what)
			slot := 0
			if tt.permit != nil {
				slot = tt.permit.Slot()
			}
			got, ok := redlock.PermitSlot(tt.ctx)
			check.That(t, got == slot && ok == (tt.permit != nil), "PermitSlot of %s = %d, %v, want %d", tt.what, got, ok, slot)
		}
	})(t)
}
