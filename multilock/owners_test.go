package multilock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
)

// The owners of a client, and what is left of those that are gone.

// A client that meets an owner of its own that has gone releases it: a command that was given up was carried
// out after all, and its release was lost.
func TestMeetingADeadOwner(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		dead := fx.m.owners.make(nil)
		fx.m.owners.forget(dead)
		fx.seat(dead, time.Hour, 0, 1, 2)
		if _, err := fx.try(t); !errors.Is(err, ErrTaken) {
			t.Errorf("Lock = %v, want ErrTaken", err)
		}
		fx.wantHolders(t, "k", "- - -")

		fx.seat(dead, time.Hour, 0, 1, 2)
		c := begin(t, fx.m, patient("k"))
		time.Sleep(10 * time.Millisecond)
		unlock(t, c.wantHold(t, "behind a dead owner"))
		fx.wantNothing(t, "then", fx.m)
	})
}

// Owners that live are left alone, however they came by their locks.
func TestMeetingALiveOwner(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		held := fx.take(t, fx.m, "k")
		for range 2 {
			if _, err := fx.try(t); !errors.Is(err, ErrTaken) {
				t.Errorf("Lock = %v, want ErrTaken", err)
			}
			fx.wantHolders(t, "k", held.Owner()+" "+held.Owner()+" "+held.Owner())
		}
		unlock(t, held)
		waited := begin(t, fx.m, patient("k")).wantHold(t, "a free lock")
		synctest.Wait()
		_, _ = fx.try(t)
		fx.wantHolders(t, "k", waited.Owner()+" "+waited.Owner()+" "+waited.Owner())
		unlock(t, waited)
		fx.wantNothing(t, "then", fx.m)
	})
}

// The owners of other clients are none of ours, also where one client's id begins as another's does.
func TestOurs(t *testing.T) {
	o := newOwners()
	mine := o.make(nil)
	for owner, want := range map[string]bool{
		mine:                  true,
		o.client + ":17":      true,
		o.client + "0:r1":     false,
		o.client:              false,
		newOwners().client:    false,
		id("x"):               false,
		"":                    false,
		o.client[1:] + ":r1":  false,
		"x" + o.client + ":r": false,
	} {
		if got := o.ours(owner); got != want {
			t.Errorf("ours(%q) = %v, want %v", owner, got, want)
		}
	}
	for owner, want := range map[string]bool{mine: false, o.client + ":17": true, "": true, id("x:r9"): false} {
		if got := foreign(owner); got != want {
			t.Errorf("foreign(%q) = %v, want %v", owner, got, want)
		}
	}
	if again := o.make(nil); again == mine {
		t.Errorf("owner %s is made twice", again)
	}
}

// A hand-off to an owner that has gone is taken back at that master and no other.
func TestStrayHandOffIsReleased(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		stray := fx.m.owners.make(nil)
		fx.m.owners.forget(stray)
		fx.seat(stray, lease, 0, 1, 2)
		fx.m.HandedOff(1, script.HandOff{Owner: stray, Round: 3, Token: 9, Key: "k"})
		fx.wantHolders(t, "k", stray+" - "+stray)
	})
}

// A hand-off to an owner that has a hold, or whose release is under way, is left alone.
func TestHandOffToAHolder(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		fx.m.HandedOff(1, script.HandOff{Owner: hold.Owner(), Round: 1, Token: 9, Key: "k"})
		fx.wantHolders(t, "k", hold.Owner()+" "+hold.Owner()+" "+hold.Owner())
		unlock(t, hold)
		fx.wantNothing(t, "then", fx.m)
	})
}

// slow takes its time with the answer of a master that is down, and notes what the others were sent by then.
type slow struct {
	fx    *fixture
	calls int64
}

func (s *slow) Answer(_ int, a script.Answer) {
	if a.Outcome == script.Unsent {
		time.Sleep(time.Second)
		s.calls = s.fx.Master(0).Calls("EVALSHA")
	}
}

// What is sent to a master that is down is known not to have arrived before the others get anything: a vote
// that they decide claims nothing there.
func TestMastersThatAreDownAnswerFirst(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.Master(2).Kill()
		time.Sleep(time.Second)
		before := fx.Master(0).Calls("EVALSHA")
		s := &slow{fx: fx}
		fx.m.send(script.Inspect("k"), fx.m.All(), s)
		synctest.Wait()
		if s.calls != before {
			t.Errorf("another master was sent %d calls before the one that is down had answered", s.calls-before)
		}
		hold := fx.take(t, fx.m, "k")
		if hold.claim.At != 0b011 {
			t.Errorf("a hold claims %03b, want 011", hold.claim.At)
		}
		unlock(t, hold)
	})
}

// A hand-off that comes when its owner has gone is taken back also where the owner became a reader
// meanwhile, and the master has not answered the release of that yet.
func TestStrayHandOffToWhoWasDowngraded(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		if err := hold.Downgrade(t.Context(), entryOf(hold)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		fx.Master(1).Kill()
		time.Sleep(time.Second)
		unlock(t, hold)
		synctest.Wait()
		fx.m.HandedOff(1, script.HandOff{Owner: hold.Owner(), Round: 1, Token: 9, Key: "k"})
		fx.Master(1).RestartWithData()
		time.Sleep(5 * time.Second)
		fx.wantHolders(t, "k", "- - -")
	})
}
