package multilock

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// The owners of a client, and what is left of those that are gone.

// A client that meets an owner of its own that has gone releases it: a command that was given up was carried
// out after all, and its release was lost.
func TestMeetingADeadOwner(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		dead := fx.m.owners.make(nil, false)
		fx.m.owners.forget(dead)
		fx.seat(dead, time.Hour, 0, 1, 2)
		fx.wantRefused(t, request("k"), poll.ErrTaken)
		fx.wantHolders(t, "k", "- - -")

		fx.seat(dead, time.Hour, 0, 1, 2)
		c := begin(t, fx.m, patient("k"))
		time.Sleep(10 * time.Millisecond)
		unlock(t, c.wantHold(t, "behind a dead owner"))
		fx.wantNothing(t, "then", fx.m)
	})(t)
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
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.Master(2).Kill()
		time.Sleep(time.Second)
		before := fx.Master(0).Calls("EVALSHA")
		s := &slow{fx: fx}
		fx.m.All.Send(script.Inspect("k"), fx.m.All.Set(), s)
		synctest.Wait()
		check.Equal(t, s.calls-before, 0, "calls that another master was sent before the one that is down had answered")
		hold := fx.take(t, fx.m, "k")
		check.Equal(t, hold.d.state.Claimed(), 0b011, "what a hold claims")
		unlock(t, hold)
	})(t)
}

// Who may publish, and no more, learns which clients wait, and can guess their owners and tokens. A hand-off that
// such a one makes up is no vote, and the forger's token is not read.
func TestForgedHandOffs(t *testing.T) {
	for name, permits := range map[string]int{"lock": 0, "permit": 1} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			req, key := permit(permits), "k"
			if permits > 0 {
				key = script.SlotKey("k", 0)
			}
			holder := begin(t, fx.m, req).wantHold(t, "the first")
			waits := fx.another(t)
			req.Entry = new(entry)
			call := begin(t, waits, req)
			before := time.Now()
			for round := range uint64(100) {
				for i := range 3 {
					forged := script.HandOff{Owner: waits.All.ID + ":r1", Round: round, Token: 1 << 52, Key: key}
					waits.HandedOff(i, forged)
					forged.Round += 1 << 52
					waits.HandedOff(i, forged)
				}
			}
			call.wantWaiting(t, "after forged hand-offs")
			unlock(t, holder)
			next := call.wantHold(t, "after the holder")
			check.AtMost(t, next.Token(), before.Add(time.Hour).UnixMicro(), "a token, which is the time, and not the forger's:")
			unlock(t, next)
		}))
	}
}

// A hand-off to an owner that has gone, or never was, is taken back at that master and no other. However many are made up,
// a master that does not answer is owed few releases, before and after it counts as down.
func TestFloodOfForgedHandOffs(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		before, others := fx.Master(0).Calls("EVALSHA"), fx.Master(1).Calls("EVALSHA")
		fx.Master(0).Freeze()
		for n := range 100_000 {
			if n == 50_000 {
				time.Sleep(2 * timeout)
			}
			fx.m.HandedOff(0, script.HandOff{Owner: fmt.Sprintf("%s:r9%d", fx.m.All.ID, n), Round: 1, Token: 9, Key: "k"})
		}
		fx.Master(0).Thaw()
		time.Sleep(lease)
		if n := fx.Master(0).Calls("EVALSHA") - before; n == 0 || n > mostStrays {
			t.Errorf("it was sent %d releases, want %d at most", n, mostStrays)
		}
		fx.m.HandedOff(0, script.HandOff{Owner: fx.m.All.ID + ":r8", Round: 1, Token: 9, Key: "k"})
		synctest.Wait()
		check.Equal(t, fx.Master(0).Calls("EVALSHA")-before, mostStrays+1, "releases that it was sent later")
		check.Equal(t, fx.Master(1).Calls("EVALSHA")-others, 0, "releases that another was sent")
	})(t)
}

// How long an owner has kept callers from a lock counts from when it was named first, and not from when another was: one
// that has the lock for a moment is not looked up.
func TestABlockerCountsFromWhenItWasNamed(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m := fx.introduced(t)
		m.mu.Lock()
		m.nameLocked("k")
		m.mu.Unlock()
		for _, owner := range []string{"y", "y", "z", "z"} {
			m.blockedBy("k", id(owner))
			rest(60 * time.Millisecond)
		}
		check.Equal(t, fx.Master(0).Calls("GETRANGE"), 0, "clients that were looked up")
		m.blockedBy("k", id("z"))
		synctest.Wait()
		check.Equal(t, fx.Master(0).Calls("GETRANGE"), 1, "clients that were looked up in the end")
	})(t)
}

// What somebody wants before its owner knows that it has it is not kept: the masters have granted it by then.
func TestWantedBeforeItIsHeld(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.m.Keep(lease)
		synctest.Wait()
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		attempt := begin(t, fx.m, patient("k"))
		time.Sleep(15 * time.Millisecond)
		owner := fx.Master(0).Holder("k")
		fx.m.Wanted(0, "k", owner)
		time.Sleep(10 * time.Millisecond)
		hold := attempt.wantHold(t, "while somebody else wants it")
		check.Equal(t, hold.Owner(), owner, "whose hold the masters had already")
		unlock(t, hold)
		time.Sleep(20 * time.Millisecond)
		fx.wantHolders(t, "k", "- - -")
		fx.wantNothing(t, "then", fx.m)
	})(t)
}

// What somebody wants of an owner that was given up says nothing of the next one, which the client keeps.
func TestAnOldOwnerIsWanted(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		hold := fx.keep(t)
		old := fx.m.owners.make(hold.d, true)
		fx.m.Wanted(0, "k", old)
		fx.wantKept(t, hold)
		held := fx.lock(t, patient("k"))
		check.That(t, fx.m.Since("k", old).IsZero() && !fx.m.Since("k", held.Owner()).IsZero(), "since when its owner has the lock is told of another, or not of that")
		unlock(t, held)
		fx.m.Wanted(0, "k", hold.Owner())
		fx.wantHolders(t, "k", "- - -")
		fx.m.owners.forget(old)
	})(t)
}

// An owner that has nothing at any master is forgotten at once: those of a try that gets no vote, each.
func TestOwnersWithoutVotesAreForgotten(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for i, owner := range []string{"x", "y", "z"} {
			fx.seat(owner, time.Hour, i)
		}
		fx.wantRefused(t, request("k"), poll.ErrTaken)
		synctest.Wait()
		wantForgotten(t, "then", fx.m)
	})(t)
}
