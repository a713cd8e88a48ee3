package multilock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/redlocktest"
)

// The life of a hold: validity, Extend, its end.

// watched wants k, renewed until it is given back.
func watched() Request {
	req := request("k")
	req.Watch = true
	return req
}

// A hold with a fixed lease ends with its validity, and is released then.
func TestAFixedLeaseEnds(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		e := entryOf(hold)
		end := hold.Until()
		time.Sleep(time.Until(end) - time.Nanosecond)
		synctest.Wait()
		e.wantAlive(t)
		if err := hold.Check(); err != nil || hold.Count() != 1 {
			t.Errorf("Check = %v, Count = %d just before the end, want nil, 1", err, hold.Count())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		e.wantEnded(t, ErrLost)
		if err := hold.Check(); !errors.Is(err, ErrLost) || hold.Count() != 0 || hold.Remaining() != 0 || !hold.Until().Equal(end) {
			t.Errorf("Check = %v, Count = %d, Remaining = %v, Until = %v; want ErrLost, 0, 0, %v",
				err, hold.Count(), hold.Remaining(), hold.Until(), end)
		}
		fx.wantNothing(t, "then", fx.m)
		if got := fx.log.lines("hold is lost"); len(got) != 1 || !strings.Contains(got[0], hold.Owner()) {
			t.Errorf("the log says %q, want once that it is lost", got)
		}
		if err := hold.Unlock(t.Context(), e); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock = %v, want ErrLost", err)
		}
		if err := hold.Unlock(t.Context(), e); !errors.Is(err, ErrNotHeld) {
			t.Errorf("Unlock twice = %v, want ErrNotHeld", err)
		}
		e.wantEnded(t, ErrLost)
	})
}

// A hold that is given back is over at once, and the log is silent about it.
func TestUntilOfAHoldThatWasGivenBack(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		time.Sleep(time.Second)
		end := time.Now()
		unlock(t, hold)
		time.Sleep(time.Second)
		if got := hold.Until(); !got.Equal(end) {
			t.Errorf("Until = %v, want when it was given back, %v", got, end)
		}
		if err := hold.Check(); !errors.Is(err, ErrNotHeld) {
			t.Errorf("Check = %v, want ErrNotHeld", err)
		}
		if got := fx.log.lines("lost"); len(got) > 0 {
			t.Errorf("the log says %q, want nothing", got)
		}
	})
}

// A watched hold goes on for as long as it is not given back.
func TestAWatchedHoldGoesOn(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		req := watched()
		hold := fx.lock(t, req)
		before := fx.Master(0).Calls("EVALSHA")
		time.Sleep(10 * lease)
		if got := fx.Master(0).Calls("EVALSHA") - before; got < 29 || got > 32 {
			t.Errorf("%d renewals in ten leases, want three in each", got)
		}
		req.Entry.(*entry).wantAlive(t)
		if left := hold.Remaining(); left < lease*6/10 {
			t.Errorf("Remaining = %v, want two thirds of the lease at least", left)
		}
		unlock(t, hold)
		synctest.Wait()
		before = fx.calls()
		time.Sleep(lease)
		if got := fx.calls() - before; got > 0 {
			t.Errorf("%d script calls after Unlock, want none", got)
		}
		fx.wantNothing(t, "then", fx.m)
	})
}

// A hold with a limit is renewed up to it, and ends with its validity then.
func TestALimitEndsRenewals(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		req := watched()
		req.Limit = 25 * time.Second
		start := time.Now()
		hold := fx.lock(t, req)
		e := req.Entry.(*entry)
		time.Sleep(26 * time.Second)
		e.wantAlive(t)
		if !hold.Orphan(e) {
			t.Error("Orphan of a hold that was renewed up to its limit = false, want that it is a mistake")
		}
		time.Sleep(time.Minute)
		e.wantEnded(t, ErrLost)
		if took := hold.Until().Sub(start); took < 25*time.Second || took > 25*time.Second+lease {
			t.Errorf("it ended after %v, want 25s to a lease more", took)
		}
		if told := e.told(); len(told) != 1 || !strings.Contains(told[0].Error(), "MaxHold 25s") {
			t.Errorf("told %v, want what limited it", told)
		}
		fx.wantNothing(t, "then", fx.m)
	})
}

func TestExtend(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		e := entryOf(hold)
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		if err := hold.Extend(t.Context(), e, 20*time.Second); err != nil {
			t.Fatalf("Extend = %v", err)
		}
		if got, want := hold.Remaining(), clock.Validity(20*time.Second, 2*time.Millisecond); got != want {
			t.Errorf("Remaining = %v, want %v: from when it was sent", got, want)
		}
		time.Sleep(15 * time.Second) // the timer of the first lease has fired
		e.wantAlive(t)
		if err := hold.Extend(t.Context(), new(entry), lease); !errors.Is(err, ErrNotHeld) {
			t.Errorf("Extend for an entry of none = %v, want ErrNotHeld", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := hold.Extend(ctx, e, lease); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Extend cut short = %v, want DeadlineExceeded", err)
		}
		time.Sleep(time.Second)
		if got := hold.Remaining(); got < lease-2*time.Second {
			t.Errorf("Remaining = %v, want that of the Extend that nobody waited for", got)
		}
		unlock(t, hold)
		if err := hold.Extend(t.Context(), e, lease); !errors.Is(err, ErrNotHeld) {
			t.Errorf("Extend after Unlock = %v, want ErrNotHeld", err)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "then", fx.m)
	})
}

// An Extend that no majority confirms says why, and changes nothing: or finds the hold lost.
func TestExtendFails(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(*fixture)
		want  error
	}{
		{"a majority is dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(1).Kill() }, ErrNoQuorum},
		{"a majority is another's", func(fx *fixture) { fx.seat("x", time.Minute, 0, 1) }, ErrLost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				hold := fx.take(t, fx.m, "k")
				e := entryOf(hold)
				tt.fault(fx)
				time.Sleep(time.Second)
				err := hold.Extend(t.Context(), e, lease)
				if !errors.Is(err, tt.want) || !strings.HasPrefix(err.Error(), `redlock: extend "k"`) {
					t.Errorf("Extend = %v, want %v of an extend", err, tt.want)
				}
				if tt.want == ErrLost {
					e.wantEnded(t, ErrLost)
				} else {
					e.wantAlive(t)
					if got, want := hold.Remaining(), clock.Validity(lease, time.Second); got != want {
						t.Errorf("Remaining = %v, want %v still", got, want)
					}
				}
				hold.end(nil)
			})
		})
	}
}

// An entry that nobody can give back keeps the hold for its validity, and no longer, unless others do.
func TestOrphan(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one, two := shared(owner), shared(owner)
		one.Watch, two.Watch = true, true
		hold := fx.lock(t, one)
		fx.lock(t, two)
		if !hold.Orphan(one.Entry) {
			t.Error("Orphan of a watched hold = false, want that it is a mistake")
		}
		time.Sleep(3 * lease)
		two.Entry.(*entry).wantAlive(t) // the other renews it
		fx.wantCounts(t, hold, "2", 2)
		hold.Orphan(two.Entry)
		time.Sleep(lease)
		for _, req := range []Request{one, two} {
			e := req.Entry.(*entry)
			e.wantEnded(t, ErrLost)
			if told := e.told(); len(told) == 1 && !strings.Contains(told[0].Error(), "garbage") {
				t.Errorf("told %v, want that it was garbage", told[0])
			}
		}
		if hold.Orphan(one.Entry) {
			t.Error("Orphan of a hold that has ended = true, want no mistake")
		}
		fx.wantNothing(t, "then", fx.m)

		fixed := fx.take(t, fx.m, "k")
		if fixed.Orphan(entryOf(fixed)) {
			t.Error("Orphan of a fixed lease = true, want no mistake")
		}
		time.Sleep(lease)
		fx.wantNothing(t, "after a fixed lease", fx.m)
	})
}

// Who gives back the last entry that could leaves the hold to its validity, where others are orphans.
func TestUnlockBesideAnOrphan(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one, two := shared(owner), shared(owner)
		one.Watch, two.Watch = true, true
		hold := fx.lock(t, one)
		fx.lock(t, two)
		hold.Orphan(one.Entry)
		if err := hold.Unlock(t.Context(), two.Entry); err != nil {
			t.Errorf("Unlock = %v", err)
		}
		one.Entry.(*entry).wantAlive(t)
		fx.wantCounts(t, hold, "1", 1)
		time.Sleep(lease)
		one.Entry.(*entry).wantEnded(t, ErrLost)
		fx.wantNothing(t, "then", fx.m)
	})
}

// An entry that is under way has a hold renewed whose other entries are orphans.
func TestOrphanBesideAnEntryUnderWay(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one := shared(owner)
		one.Watch = true
		hold := fx.lock(t, one)
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		two := shared(owner)
		two.Watch = true
		c := begin(t, fx.m, two)
		hold.Orphan(one.Entry)
		time.Sleep(3 * lease)
		if h := c.wantHold(t, "its owner has the lock"); h != hold {
			t.Error("another hold, want the one that is there")
		}
		c.entry.wantAlive(t)
		hold.end(nil)
		time.Sleep(time.Second)
		fx.wantNothing(t, "then", fx.m)
	})
}

// A hold with a fixed lease is renewed from when an entry wants that.
func TestAFixedLeaseThatIsWatchedLater(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		hold := fx.lock(t, shared(owner))
		time.Sleep(time.Second)
		req := shared(owner)
		req.Watch = true
		fx.lock(t, req)
		time.Sleep(5 * lease)
		req.Entry.(*entry).wantAlive(t)
		hold.end(nil)
	})
}

// What an entry wants goes with it: a fixed lease that shared a renewed hold is renewed no more, and ends.
func TestAFixedLeaseOutlivesWhatWasWatched(t *testing.T) {
	for name, first := range map[string]bool{"watched first": true, "watched later": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				owner := new(int)
				fixed, renewed := shared(owner), shared(owner)
				renewed.Watch = true
				if first {
					fx.lock(t, renewed)
				}
				hold := fx.lock(t, fixed)
				if !first {
					fx.lock(t, renewed)
				}
				time.Sleep(2 * lease)
				if err := hold.Unlock(t.Context(), renewed.Entry); err != nil {
					t.Errorf("Unlock = %v", err)
				}
				fixed.Entry.(*entry).wantAlive(t)
				time.Sleep(lease)
				fixed.Entry.(*entry).wantEnded(t, ErrLost)
				fx.wantNothing(t, "then", fx.m)
			})
		})
	}
}

// asks is a context that asks a hold whether it has ended, as that of a hold does.
type asks struct {
	context.Context
	hold *Hold
}

func (a asks) Done() <-chan struct{} {
	_ = a.hold.Check()
	return a.Context.Done()
}

func (a asks) Err() error {
	if cause := a.hold.Check(); cause != nil {
		return cause
	}
	return a.Context.Err()
}

// A context that asks a hold whether it has ended may be given to any call for that hold.
func TestContextThatAsksAHold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one, two := shared(owner), shared(owner)
		hold := fx.lock(t, one)
		synctest.Wait()
		ctx := asks{t.Context(), hold}
		if _, err := fx.m.Lock(ctx, two); err != nil {
			t.Errorf("Lock = %v", err)
		}
		if err := hold.Extend(ctx, one.Entry, lease); err != nil {
			t.Errorf("Extend = %v", err)
		}
		for _, req := range []Request{two, one} {
			if err := hold.Unlock(ctx, req.Entry); err != nil {
				t.Errorf("Unlock = %v", err)
			}
		}
		fx.wantNothing(t, "then", fx.m)
	})
}
