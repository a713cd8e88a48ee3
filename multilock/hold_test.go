package multilock

import (
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

// until returns the end of a hold's validity.
func until(h *Hold) clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state.Until
}

// Giving a lock back.

// An Unlock of one entry of several that finds the hold gone ends it for all.
func TestUnlockOfOneEntryFindsTheHoldLost(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one, two := shared(owner), shared(owner)
		hold := fx.lock(t, one)
		fx.lock(t, two)
		synctest.Wait()
		fx.each(func(m *redlocktest.Master) { m.Del("k") })
		if err := hold.Unlock(t.Context(), one.Entry); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock = %v, want ErrLost", err)
		}
		one.Entry.(*entry).wantEnded(t, ErrNotHeld)
		two.Entry.(*entry).wantEnded(t, ErrLost)
		if err := hold.Unlock(t.Context(), two.Entry); !errors.Is(err, ErrLost) {
			t.Errorf("Unlock of the other = %v, want ErrLost", err)
		}
		fx.wantNothing(t, "then", fx.m)
	})
}
