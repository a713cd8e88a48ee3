package multilock

import (
	"errors"
	"fmt"
	"strings"
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

// Who may publish, and no more, learns which clients wait, and can guess their owners and tokens. A hand-off that
// such a one makes up is no vote, and the forger's token is not read.
func TestForgedHandOffs(t *testing.T) {
	for name, permits := range map[string]int{"lock": 0, "permit": 1} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				req := patient("k")
				req.Permits = permits
				holder := begin(t, fx.m, req).wantHold(t, "the first")
				waits := fx.another(t)
				req.Entry = new(entry)
				call := begin(t, waits, req)
				before := time.Now()
				for round := range uint64(100) {
					for i := range 3 {
						forged := script.HandOff{Owner: waits.ID() + ":r1", Round: round, Token: 1 << 52, Key: "k", Mode: script.Mode(2 * permits)}
						waits.HandedOff(i, forged)
						forged.Round += 1 << 52
						waits.HandedOff(i, forged)
					}
				}
				call.wantWaiting(t, "after forged hand-offs")
				unlock(t, holder)
				next := call.wantHold(t, "after the holder")
				if token := next.Token(); token > before.Add(time.Hour).UnixMicro() {
					t.Errorf("token %d, want the time: the forger's is not to be read", token)
				}
				unlock(t, next)
			})
		})
	}
}

// No two tries number their rounds alike.
func TestRoundsBeginAnywhere(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		seen := map[uint64]bool{}
		for range 8 {
			c := asked(fx.m)
			from := -c.owner.Round(script.HandOff{})
			ask := fx.Master(0).Get("redlock_wait:{k}" + current(c))
			if seen[from>>12] || from >= 1<<52 || !strings.HasPrefix(ask, fmt.Sprintf("%d ", from+1)) {
				t.Errorf("rounds are counted from %d, and the first is %q", from, ask)
			}
			seen[from>>12] = true
			c.giveUp(nil)
		}
	})
}
