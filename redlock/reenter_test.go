package redlock_test

import (
	"context"
	"fmt"
	"testing"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestWithOwnerKeepsTheOwner(t *testing.T) {
	ctx := redlock.WithOwner(t.Context())
	if redlock.WithOwner(ctx) != ctx {
		t.Error("WithOwner made another owner under one")
	}
}

// A hold's context enters that hold again and those around it. Whoever locks another name under it is
// a new owner, so goroutines of one job exclude each other, unless WithOwner made them one.
func TestWhoEntersAgain(t *testing.T) {
	bubble(t, 3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, redlocktest.Start(t, 3), redlock.Config{}) // of other masters
		job := lock(t, t.Context(), c, "job")
		db := lock(t, job.Context(), c, "db")
		over := lock(t, t.Context(), c, "over")
		unlock(t, over)
		both, err := c.LockAll(job.Context(), "job", "both a", "both b")
		expect(t, "LockAll", err)
		permit, err := c.Semaphore("pool", 2).Acquire(t.Context())
		expect(t, "Acquire", err)
		for _, w := range []struct {
			under  string
			ctx    context.Context
			name   string
			enters bool
		}{
			{"its own hold", job.Context(), "job", true},
			{"another hold", job.Context(), "x", false},
			{"a hold around that of the name", job.Context(), "db", false},
			{"a hold inside that of the name", db.Context(), "job", true},
			{"a hold that was given back", context.WithoutCancel(over.Context()), "over", false},
			{"a hold of another client", lock(t, t.Context(), d, "y").Context(), "y", false},
			{"a permit", permit.Context(), "pool", false},
			{"WithOwner", redlock.WithOwner(t.Context()), "z", true},
			{"WithOwner inside a hold", redlock.WithOwner(job.Context()), "v", true},
			{"WithOwner inside its own hold", redlock.WithOwner(job.Context()), "job", true},
			{"LockAll", both.Context(), "both b", true},
			{"one of LockAll", both.Hold("both a").Context(), "both b", true},
			{"LockAll inside a hold", both.Context(), "job", true},
			{"LockAll of other names", both.Context(), "u", false},
		} {
			if _, err := c.TryLock(w.ctx, w.name); err != nil && w.enters {
				t.Errorf("TryLock(%q) under %s: %v", w.name, w.under, err)
			}
			var want []error
			if !w.enters {
				want = append(want, redlock.ErrTaken)
			}
			_, err := c.TryLock(w.ctx, w.name)
			expect(t, fmt.Sprintf("second TryLock(%q) under %s", w.name, w.under), err, want...)
		}
		ctx, cancel := context.WithCancel(t.Context())
		expect(t, "Do", c.Do(ctx, "done", func(ctx context.Context) error {
			cancel()
			again, err := c.TryLock(context.WithoutCancel(ctx), "done") // to clean up
			expect(t, "TryLock in Do whose context has ended", err)
			unlock(t, again)
			_, err = c.TryLock(context.WithoutCancel(ctx), "job")
			expect(t, "TryLock of another's name in Do", err, redlock.ErrTaken)
			return nil
		}))
	})
}
