package multilock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// Close is called in the midst of everything.

// Close gives back what is held, also what is won while it is called, on masters that answer.
func TestCloseGivesBack(t *testing.T) {
	for delay := range 6 {
		t.Run(fmt.Sprint(delay), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				m := fx.another(t)
				m.All.Greet(t.Context())
				held := fx.take(t, m, "held")
				fx.each(func(m *redlocktest.Master) { m.Delay(2 * time.Millisecond) })
				var calls []*call
				for _, req := range []Request{request("k"), patient("l"), patient("l"), patient("held")} {
					calls = append(calls, begin(t, m, req))
				}
				time.Sleep(time.Duration(delay) * time.Millisecond)
				if err := m.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
				entryOf(held).wantEnded(t, poll.ErrClosed)
				for i, c := range calls {
					switch {
					case !c.over():
						t.Errorf("call %d goes on after Close", i)
					case c.err == nil:
						c.entry.wantEnded(t, poll.ErrClosed)
					case !errors.Is(c.err, poll.ErrClosed):
						t.Errorf("call %d = %v, want ErrClosed", i, c.err)
					}
				}
				time.Sleep(time.Second)
				for _, key := range []string{"k", "l", "held"} {
					fx.wantHolders(t, key, "- - -")
				}
				fx.wantNothing(t, "after Close", m)
			})
		})
	}
}

// slowEntry takes its time when it is told that the hold has ended.
type slowEntry struct{ entry }

func (e *slowEntry) Ended(cause error) {
	time.Sleep(10 * time.Millisecond)
	e.entry.Ended(cause)
}

// What crosses an Unlock whose release is about to be sent leaves the lock to it: the release tells
// whether the hold was there until then. Close waits for it.
func TestBesideAnUnlock(t *testing.T) {
	for name, cross := range map[string]func(*testing.T, *Hold){
		"a renewal that is due": func(_ *testing.T, hold *Hold) { hold.d.m.renew(lease, []*driver{hold.d}) },
		"a downgrade": func(t *testing.T, hold *Hold) {
			if _, err := hold.renewOnce(t.Context(), redlocktrace.RenewalDowngrade, attempt.Event{Kind: attempt.Downgrade}); !errors.Is(err, poll.ErrNotHeld) {
				t.Errorf("downgrade = %v, want ErrNotHeld", err)
			}
		},
		"Close": func(t *testing.T, hold *Hold) {
			if err := hold.d.m.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				req := request("k")
				req.Entry = new(slowEntry)
				hold := fx.lock(t, req)
				synctest.Wait()
				unlocked := make(chan error, 1)
				go func() { unlocked <- hold.Unlock(context.Background(), req.Entry) }()
				synctest.Wait()
				cross(t, hold)
				if err := <-unlocked; err != nil {
					t.Errorf("Unlock = %v", err)
				}
				fx.wantNothing(t, "then", fx.m)
			})
		})
	}
}

// A hold whose release is held up on its way to the masters has ended for its entries, and is one that Close finds.
func TestCloseFindsAHoldUntilItsReleaseIsSent(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		m, gate := fx.gated(t, 0)
		hold := fx.take(t, m, "k")
		open := gate.shut()
		unlocked, e := make(chan error, 1), entryOf(hold)
		go func() { unlocked <- hold.Unlock(context.Background(), e) }()
		synctest.Wait()
		e.wantEnded(t, poll.ErrNotHeld)
		if holds := m.holds(); len(holds) != 1 {
			t.Errorf("%d holds while the release is on its way, want the one", len(holds))
		}
		open()
		if err := <-unlocked; err != nil {
			t.Errorf("Unlock = %v", err)
		}
		if holds := m.holds(); len(holds) != 0 {
			t.Errorf("%d holds after Unlock, want none", len(holds))
		}
	})
}

// A hold ends with its validity, also while Close waits for what is under way.
func TestCloseProlongsNoHold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		m := fx.another(t)
		hold := fx.take(t, m, "k")
		e := entryOf(hold)
		m.All.Begin()
		closed := make(chan error, 1)
		go func() { closed <- m.Close() }()
		time.Sleep(lease)
		synctest.Wait()
		e.wantEnded(t, poll.ErrLost)
		m.All.End()
		if err := <-closed; err != nil {
			t.Errorf("Close = %v", err)
		}
	})
}
