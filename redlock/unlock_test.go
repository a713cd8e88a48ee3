package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestUnlockTwice(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		warm(t, c)
		hold := lock(t, t.Context(), c, "a")
		unlock(t, hold)
		other := lock(t, t.Context(), c, "a")
		synctest.Wait()
		before := scripts(fleet)
		expect(t, "second Unlock", hold.Unlock(t.Context()), redlock.ErrNotHeld)
		synctest.Wait()
		if n := scripts(fleet) - before; n != 0 {
			t.Errorf("the second Unlock ran %d scripts", n)
		}
		expectCount(t, fleet, other, "1", 1)
	})
}

// What people write is defer hold.Unlock(ctx), also where ctx ends first.
func TestUnlockUnderAnEndedContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		ctx, cancel := context.WithCancel(t.Context())
		outer := lock(t, ctx, c, "a")
		inner := lock(t, outer.Context(), c, "a")
		cancel()
		start := time.Now()
		expect(t, "Unlock", inner.Unlock(ctx), context.Canceled)
		expect(t, "Unlock", outer.Unlock(ctx), context.Canceled)
		if got := time.Since(start); got != 0 {
			t.Errorf("Unlock waited %v under a context that has ended", got)
		}
		time.Sleep(100 * time.Millisecond)
		expectFree(t, fleet, "a")
	})
}

// A release that a master missed is repeated for as long as that may keep the lock: for the longest lease
// that Config allows, and not for that of Lock.
func TestUnlockOfALongLeaseReachesALateMaster(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		c := open(t, fleet, redlock.Config{Lease: 10 * time.Second, MaxLease: time.Hour})
		hold := lockFor(t, t.Context(), c, "a", time.Hour)
		synctest.Wait()
		fleet.Master(0).Kill()
		time.Sleep(time.Second)
		unlock(t, hold)
		time.Sleep(time.Minute)
		fleet.Master(0).RestartWithData()
		time.Sleep(5 * time.Second)
		expectFree(t, fleet, "a")
	})
}

// A hold that has ended never frees the lock of the next owner, whose id may begin with
// its own.
func TestUnlockAfterLossFreesNobodyElse(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		first := lockFor(t, t.Context(), c, "a", time.Second) // uuid:1
		for range 8 {
			unlock(t, lock(t, t.Context(), c, "b"))
		}
		second := lock(t, t.Context(), c, "a") // uuid:10
		expect(t, "Unlock", first.Unlock(t.Context()), redlock.ErrLost)
		expect(t, "Unlock again", first.Unlock(t.Context()), redlock.ErrNotHeld)
		expectCount(t, fleet, second, "1", 1)
		_, err := d.TryLock(t.Context(), "a")
		expect(t, "TryLock", err, redlock.ErrTaken)
	})
}

func TestUnlockOfAHoldThatIsGone(t *testing.T) {
	bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		synctest.Wait()
		each(fleet, 0, 3, (*redlocktest.Master).FlushAll)
		err := hold.Unlock(t.Context())
		expect(t, "Unlock", err, redlock.ErrLost)
		expectNot(t, "Unlock", err, redlock.ErrNoQuorum)
		expectFree(t, fleet, "a")
	})
}

// The release is kept for masters that cannot be reached, until they are back.
func TestUnlockDuringAnOutage(t *testing.T) {
	for name, fault := range map[string]struct{ begin, end func(*redlocktest.Master) }{
		"dead":     {(*redlocktest.Master).Kill, (*redlocktest.Master).RestartWithData},
		"frozen":   {(*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		"cut off":  {(*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
		"readonly": {func(m *redlocktest.Master) { m.SetRole("slave") }, func(m *redlocktest.Master) { m.SetRole("master") }},
	} {
		for _, wait := range []time.Duration{0, 5 * time.Second} { // until the client has noticed
			t.Run(fmt.Sprintf("%s/%v", name, wait), func(t *testing.T) {
				bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					hold := lock(t, t.Context(), c, "a")
					synctest.Wait()
					each(fleet, 0, 3, fault.begin)
					time.Sleep(wait)
					start := time.Now()
					err := hold.Unlock(t.Context())
					if got := time.Since(start); got > nodeTimeout {
						t.Errorf("Unlock took %v, want at most %v", got, nodeTimeout)
					}
					expect(t, "Unlock", err, redlock.ErrNoQuorum)
					expectNot(t, "Unlock", err, redlock.ErrLost, redlock.ErrTaken)
					var majority *redlock.MajorityError
					if !errors.As(err, &majority) || len(majority.Nodes.Errors) != 3 || majority.Got != 2 {
						t.Errorf("Unlock = %v, want the three masters named", err)
					}
					time.Sleep(5 * time.Second)
					each(fleet, 0, 3, fault.end)
					time.Sleep(settle)
					expectFree(t, fleet, "a")
				})
			})
		}
	}
}

func TestDoUnlocks(t *testing.T) {
	oops := errors.New("oops")
	for name, test := range map[string]func(*testing.T, *redlocktest.Fleet, *redlock.Client){
		"and returns nil": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			expect(t, "Do", c.Do(t.Context(), "a", func(context.Context) error { return nil }))
		},
		"and returns fn's error itself": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			if err := c.Do(t.Context(), "a", func(context.Context) error { return oops }); err != oops {
				t.Errorf("Do = %#v, want fn's error itself", err)
			}
		},
		"and lets a panic pass": func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			defer func() {
				if got := recover(); got != oops {
					t.Errorf("recover = %v, want %v", got, oops)
				}
				expectFree(t, fleet, "a")
			}()
			_ = c.Do(t.Context(), "a", func(context.Context) error { panic(oops) })
		},
		"when the caller's context ends": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(oops) })
			start := time.Now()
			err := c.Do(ctx, "a", func(ctx context.Context) error {
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if err != oops || time.Since(start) != time.Minute {
				t.Errorf("Do = %v after %v, want %v after a minute", err, time.Since(start), oops)
			}
		},
		"and joins the loss to what fn says": func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			err := c.Do(t.Context(), "a", func(ctx context.Context) error {
				synctest.Wait()
				seize(fleet, 0, 2)
				<-ctx.Done()
				expect(t, "Cause", context.Cause(ctx), redlock.ErrLost)
				each(fleet, 0, 2, func(m *redlocktest.Master) { m.Del("a") })
				return oops
			})
			expect(t, "Do", err, redlock.ErrLost, oops)
		},
		"and tells of a loss that fn did not notice": func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			err := c.Do(t.Context(), "a", func(ctx context.Context) error {
				synctest.Wait()
				each(fleet, 0, 3, (*redlocktest.Master).FlushAll)
				return nil
			})
			expect(t, "Do", err, redlock.ErrLost)
		},
		"as ErrClosed when the client was closed": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			err := c.Do(t.Context(), "a", func(ctx context.Context) error {
				c.Close()
				<-ctx.Done()
				return oops
			})
			expect(t, "Do", err, redlock.ErrClosed, oops)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				test(t, fleet, c)
				expectFree(t, fleet, "a")
			})
		})
	}
}

// The hold's own context does for Unlock, though Unlock ends it.
func TestUnlockUnderItsOwnContext(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		inner := lock(t, hold.Context(), c, "a")
		synctest.Wait()
		expect(t, "Unlock of the inner level", inner.Unlock(inner.Context()))
		expect(t, "Unlock", hold.Unlock(hold.Context()))
		expectFree(t, fleet, "a")
	})
}

// An Unlock whose context ends just after it began waits no longer, as with any other that ends: only the end
// of the hold's own context, which Unlock brings about, does not count.
func TestUnlockWhoseContextEndsAtOnce(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		for _, m := range fleet.Masters() {
			m.Freeze()
		}
		start := time.Now()
		_ = hold.Unlock(&brief{Context: t.Context(), looks: 1})
		if got := time.Since(start); got > 0 {
			t.Errorf("Unlock returned after %v, want at once", got)
		}
		for _, m := range fleet.Masters() {
			m.Thaw()
		}
	})
}

// brief is a context that ends after so many looks at it.
type brief struct {
	context.Context
	looks int
}

func (b *brief) Err() error {
	if b.looks--; b.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func (b *brief) Done() <-chan struct{} {
	ended := make(chan struct{})
	close(ended)
	return ended
}
