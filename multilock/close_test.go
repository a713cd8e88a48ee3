package multilock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// Close is called in the midst of everything.

// Close gives back what is held, also what is won while it is called, on masters that answer.
func TestCloseGivesBack(t *testing.T) {
	for delay := range 6 {
		t.Run(fmt.Sprint(delay), bubble(3, func(t *testing.T, fx *fixture) {
			m := fx.another(t)
			m.All.Greet(t.Context())
			held := fx.take(t, m, "held")
			fx.each(func(m *redlocktest.Master) { m.Delay(2 * time.Millisecond) })
			var calls []*call
			for _, req := range []Request{request("k"), patient("l"), patient("l"), patient("held")} {
				calls = append(calls, begin(t, m, req))
			}
			time.Sleep(time.Duration(delay) * time.Millisecond)
			check.Err(t, "Close", m.Close())
			entryOf(held).wantEnded(t, poll.ErrClosed)
			for i, c := range calls {
				if c.over() && c.err == nil {
					c.entry.wantEnded(t, poll.ErrClosed)
				} else {
					c.wantError(t, fmt.Sprint("call ", i), poll.ErrClosed)
				}
			}
			time.Sleep(time.Second)
			for _, key := range []string{"k", "l", "held"} {
				fx.wantHolders(t, key, "- - -")
			}
			fx.wantNothing(t, "after Close", m)
		}))
	}
}

// A client that has been closed says so, and not that its masters are down, be it established or not.
func TestLockAfterClose(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for _, m := range []*Masters{fx.m, fx.introduced(t)} {
			check.Err(t, "Close", m.Close())
			for _, req := range []Request{request("k"), patient("k")} {
				_, err := m.Lock(t.Context(), req)
				check.Err(t, "Lock", err, poll.ErrClosed)
			}
		}
	})(t)
}

// What crosses an Unlock whose release is about to be sent leaves the lock to it: the release tells
// whether the hold was there until then. Close waits for it.
func TestBesideAnUnlock(t *testing.T) {
	for name, cross := range map[string]func(*testing.T, *Hold){
		"a renewal that is due": func(_ *testing.T, hold *Hold) { hold.d.m.renew(lease, []*driver{hold.d}) },
		"a downgrade": func(t *testing.T, hold *Hold) {
			_, err := hold.renewOnce(t.Context(), redlocktrace.RenewalDowngrade, attempt.Event{Kind: attempt.Downgrade})
			check.Err(t, "a downgrade", err, poll.ErrNotHeld)
		},
		"Close": func(t *testing.T, hold *Hold) { check.Err(t, "Close", hold.d.m.Close()) },
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			req := request("k")
			req.Entry = &entry{then: func() { time.Sleep(10 * time.Millisecond) }}
			hold := fx.lock(t, req)
			unlocked := during(func() error { return hold.Unlock(context.Background(), req.Entry) })
			cross(t, hold)
			check.Err(t, "Unlock", <-unlocked)
			fx.wantNothing(t, "then", fx.m)
		}))
	}
}

// A hold whose release is held up on its way to the masters has ended for its entries, and is one that Close finds.
func TestCloseFindsAHoldUntilItsReleaseIsSent(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m, gate := fx.gated(t, 0)
		hold := fx.take(t, m, "k")
		open := gate.shut()
		e := entryOf(hold)
		unlocked := during(func() error { return hold.Unlock(context.Background(), e) })
		e.wantEnded(t, poll.ErrNotHeld)
		check.Equal(t, len(m.holds()), 1, "holds while the release is on its way")
		open()
		check.Err(t, "Unlock", <-unlocked)
		check.Equal(t, len(m.holds()), 0, "holds after Unlock")
	})(t)
}

// A hold ends with its validity, also while Close waits for what is under way.
func TestCloseProlongsNoHold(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m := fx.another(t)
		hold := fx.take(t, m, "k")
		e := entryOf(hold)
		m.All.Begin()
		closed := during(m.Close)
		rest(lease)
		e.wantEnded(t, poll.ErrLost)
		m.All.End()
		check.Err(t, "Close", <-closed)
	})(t)
}
