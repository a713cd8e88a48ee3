package redlock_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// At the instant at which validity ends, Err of the context and Unlock say so, also if the timer has yet to fire. Which
// of the two comes first is up to the scheduler, so it is tried often.
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

// A value that no context has is looked up once in the caller's, however deep the locks are nested.
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

// A context tells the token of the innermost hold that it is under, and the slot of the innermost permit.
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

// A call that would wait for its own caller is refused at once, and no master is asked. So work under the context of a
// hold does not share it.
func TestWhoWouldWaitForItself(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, redlocktest.Start(t, 3), redlock.Config{}) // of other masters
		job := lock(t, t.Context(), c, "job")
		db := lock(t, job.Context(), c, "db")
		reader := lock(t, t.Context(), c, "read", redlock.Shared())
		over := lock(t, t.Context(), c, "over")
		unlock(t, over)
		both := lockAll(t, job.Context(), c, "both a", "both b")
		permit := acquire(t, c, "pool", 2)
		left := lock(t, t.Context(), c, "left")
		stays := got(t, "Enter", left.Enter, t.Context())
		unlock(t, left)
		expect(t, "Enter of a Hold that was unlocked, of a lock that goes on", second(left.Enter(t.Context())), redlock.ErrNotHeld)
		owned := lock(t, redlock.WithOwner(t.Context()), c, "owned")
		inTree := got(t, "Enter", job.Enter, redlock.WithOwner(t.Context()))
		for _, w := range []struct {
			under string
			ctx   context.Context
			name  string
			want  error // nil: it is granted
		}{
			{"its own hold", job.Context(), "job", redlock.ErrHeld},
			{"its own hold, without its end", context.WithoutCancel(job.Context()), "job", redlock.ErrHeld},
			{"the inner of two holds", db.Context(), "db", redlock.ErrHeld},
			{"the outer of two holds", db.Context(), "job", redlock.ErrHeld},
			{"an outer hold, the name of an inner one", job.Context(), "db", redlock.ErrTaken},
			{"another hold", job.Context(), "x", nil},
			{"a reader's hold", reader.Context(), "read", redlock.ErrUpgrade},
			{"a hold that was unlocked", context.WithoutCancel(over.Context()), "over", nil},
			{"a Hold that was unlocked, of a lock that goes on", context.WithoutCancel(left.Context()), "left", redlock.ErrTaken},
			{"a Hold that entered a lock", stays.Context(), "left", redlock.ErrHeld},
			{"a Hold that entered the lock of another owner", inTree.Context(), "job", redlock.ErrHeld},
			{"a hold of another client", lock(t, t.Context(), d, "y").Context(), "y", nil},
			{"a permit", permit.Context(), "pool", nil},
			{"a tree that does not hold it", redlock.WithOwner(t.Context()), "owned", redlock.ErrTaken},
			{"a tree inside its hold", redlock.WithOwner(job.Context()), "job", redlock.ErrHeld},
			{"its tree", owned.Context(), "owned", nil},
			{"its tree, which is told again that it is one", redlock.WithOwner(owned.Context()), "owned", nil},
			{"LockAll", both.Context(), "both b", redlock.ErrHeld},
			{"one of LockAll", both.Hold("both a").Context(), "both b", redlock.ErrHeld},
			{"LockAll inside a hold", both.Context(), "job", redlock.ErrHeld},
			{"LockAll of other names", both.Context(), "u", nil},
		} {
			what := w.name + " under " + w.under
			synctest.Wait()
			before, start := scripts(fleet), time.Now()
			for call, f := range map[string]func() (interface{ Unlock(context.Context) error }, error){
				"TryLock": func() (interface{ Unlock(context.Context) error }, error) { return c.TryLock(w.ctx, w.name) },
				"TryLockAll": func() (interface{ Unlock(context.Context) error }, error) {
					return c.TryLockAll(w.ctx, []string{"0", w.name})
				},
			} {
				switch hold, err := f(); {
				case w.want != nil:
					expect(t, call+" of "+what, err, w.want)
				case err != nil:
					t.Errorf("%s of %s = %v", call, what, err)
				default:
					expect(t, "Unlock", hold.Unlock(t.Context()))
				}
			}
			if !errors.Is(w.want, redlock.ErrHeld) {
				continue
			}
			expect(t, "Lock of "+what, second(c.Lock(w.ctx, w.name)), w.want)
			expect(t, "Do of "+what, c.Do(w.ctx, w.name, func(context.Context) error { return nil }), w.want)
			expect(t, "Lead of "+what, c.Lead(w.ctx, w.name, func(context.Context) error { return nil }), w.want)
			expect(t, "Lock of "+what+", to read", second(c.Lock(w.ctx, w.name, redlock.Shared())), redlock.ErrHeld)
			check.Equal(t, scripts(fleet)-before, 0, "script calls for %s", what)
			check.Equal(t, time.Since(start), 0, "the time for %s", what)
		}
		expectNot(t, "a reader under a reader", second(c.Lock(reader.Context(), "read", redlock.Shared())), redlock.ErrUpgrade)
	})(t)
}
