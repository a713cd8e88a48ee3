package multilock

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// The life of a hold: validity, Extend, its end.

// Giving a lock back.

// An Unlock of one entry of several that finds the hold gone ends it for all.
func TestUnlockOfOneEntryFindsTheHoldLost(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		one, two := shared(owner), shared(owner)
		hold := fx.lock(t, one)
		fx.lock(t, two)
		fx.each(func(m *redlocktest.Master) { m.Del("k") })
		check.Err(t, "Unlock", hold.Unlock(t.Context(), one.Entry), poll.ErrLost)
		one.Entry.(*entry).wantEnded(t, poll.ErrNotHeld)
		two.Entry.(*entry).wantEnded(t, poll.ErrLost)
		check.Err(t, "Unlock of the other", hold.Unlock(t.Context(), two.Entry), poll.ErrLost)
		fx.wantNothing(t, "then", fx.m)
	})(t)
}

// Two holds that are joined have the larger token, and are lost together. One whose other half has ended
// is not joined with the next.
func TestJoin(t *testing.T) {
	const far int64 = 7_000_000_000_000_000
	gone := errors.New("gone")
	lose := func(h *Hold) { h.end(attempt.Lose, gone) }
	for _, tt := range []struct {
		what    string
		do      func(a, b *Hold)
		want    error // why the first has ended; nil if it goes on
		joins   bool  // they can be joined again
		another bool  // the first is joined with another then
	}{
		{"again", func(a, b *Hold) {}, nil, true, false},
		{"the first is lost", func(a, b *Hold) { lose(a) }, gone, false, false},
		{"the second is lost", func(a, b *Hold) { lose(b) }, gone, false, false},
		{"validity ends", func(a, b *Hold) { time.Sleep(lease) }, poll.ErrLost, false, false},
		{"the second is unlocked", func(a, b *Hold) { unlock(t, b) }, nil, false, false},
		{"another second", func(a, b *Hold) { unlock(t, b) }, nil, false, true},
	} {
		t.Run(tt.what, bubble(3, func(t *testing.T, fx *fixture) {
			second := &fixture{Fleet: redlocktest.Start(t, 3)}
			second.m = second.another(t)
			second.each(func(m *redlocktest.Master) { m.Set("redlock_fence:{k}", "7000000000000000") })
			a, b := fx.take(t, fx.m, "k"), second.take(t, second.m, "k")
			if err := Join(t.Context(), a, b); err != nil || a.Token() != b.Token() || a.Token() <= far {
				t.Errorf("Join = %v with tokens %d and %d, want one token above %d", err, a.Token(), b.Token(), far)
			}
			tt.do(a, b)
			if tt.want == nil {
				entryOf(a).wantAlive(t)
			} else {
				entryOf(a).wantEnded(t, tt.want)
				entryOf(b).wantEnded(t, tt.want)
			}
			if tt.another {
				b = second.take(t, second.m, "k")
			}
			err := Join(t.Context(), a, b)
			if tt.joins {
				check.Err(t, "Join", err)
				entryOf(a).wantAlive(t)
				return
			}
			check.That(t, errors.Is(err, poll.ErrLost) && a.Count() == 0 && b.Count() == 0, "Join = %v with counts %d and %d, want ErrLost and neither held", err, a.Count(), b.Count())
		}))
	}
}

// Permits of two sets that cannot be joined say which semaphore was lost.
func TestJoinOfPermits(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		req, other := request("k"), request("k")
		req.Permits, other.Permits = 2, 2
		a, b := fx.lock(t, req), fx.lock(t, other)
		unlock(t, b)
		check.Equal(t, fmt.Sprint(Join(t.Context(), a, b)), `redlock: acquire "k": hold lost`, "Join says")
	})(t)
}

// TestActivity: the masters are checked as often as what the client does needs.
func TestActivity(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m, other := fx.m, fx.another(t)
		does := func(when string, want node.Activity) {
			t.Helper()
			synctest.Wait()
			check.Equal(t, m.Activity(), want, "the activity %s", when)
		}
		renewed := func(m *Masters, key string) *Hold {
			return begin(t, m, watched(key)).wantHold(t, "what is free")
		}
		does("at first", node.Idle)
		hold := renewed(m, "k")
		does("with a hold", node.Holding)
		second := renewed(m, "l")
		unlock(t, hold)
		does("with another hold", node.Holding)
		unlock(t, second)
		does("after Unlock", node.Idle)

		theirs := renewed(other, "k")
		waits := begin(t, m, patient("k"))
		time.Sleep(time.Minute)
		does("while it waits", node.Waiting)
		waits.cancel()
		does("after it gave up", node.Idle)

		unlock(t, theirs)
		synctest.Wait() // all masters are free: else the next lock waits, until the frozen one counts as down
		fx.Master(0).Freeze()
		hold = renewed(m, "k")
		unlock(t, hold)
		does("while a release is owed", node.Waiting)
		fx.Master(0).Thaw()
		time.Sleep(lease)
		does("after it was answered", node.Idle)

		renewed(m, "k")
		fx.each((*redlocktest.Master).Cut)
		time.Sleep(2 * lease)
		does("after a hold was lost", node.Idle)
	})(t)
}
