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
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Renewals: several holds in one script call, a vote on each, and healing.

// One script call renews many holds, and each of them has a vote of its own.
func TestRenewVotesOnEachHold(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		const n = 40
		var holds []*Hold
		var due []*driver
		for i := range n {
			hold := fx.take(t, fx.m, fmt.Sprint("k", i))
			holds, due = append(holds, hold), append(due, hold.d)
		}
		for key, masters := range map[string][]int{"k3": {0, 1}, "k4": {0}, "k5": {1, 2}} {
			for _, i := range masters {
				fx.Master(i).Del(key)
				fx.Master(i).HSet(key, id("b"), "1")
			}
		}
		time.Sleep(time.Second)
		before := fx.Master(0).Calls("EVALSHA")
		fx.m.renew(lease, due)
		synctest.Wait()
		check.Equal(t, fx.Master(0).Calls("EVALSHA")-before, 1+2, "script calls for %d holds, and the releases of two", n)
		for i, hold := range holds {
			err := hold.Check()
			if lost := i == 3 || i == 5; lost != errors.Is(err, poll.ErrLost) || !lost && hold.Remaining() < lease-time.Second {
				t.Errorf("k%d: %v, with %v left, want k3 and k5 lost, and the others renewed", i, err, hold.Remaining())
			}
			if why, ok := errors.AsType[*poll.MajorityError](err); ok && (why.Name != fmt.Sprint("k", i) || len(why.Nodes.Errors) != 2 || !errors.Is(why, errForeign)) {
				t.Errorf("k%d: told %v, want that two masters have another owner of it", i, why)
			}
		}
	})(t)
}

// What a master says of one of several holds is a yes, a no, or an error, by which nothing is known of it.
func TestRenewedIsAYesANoOrAnError(t *testing.T) {
	says := []struct {
		script.Renewed
		want script.Outcome
	}{
		{script.Extended, script.Done},
		{script.Healed, script.Done},
		{script.Absent, script.Refused},
		{script.Foreign, script.Refused},
		{script.NotLock, script.Refused},
		{script.Errored, script.Failed},
	}
	a := script.Answer{Outcome: script.Done}
	for _, tt := range says {
		a.Renewed = append(a.Renewed, tt.Renewed)
	}
	for i, tt := range says {
		check.Equal(t, renewed(a, i).Outcome, tt.want, "where a master says %d of a hold", tt.Renewed)
		check.Equal(t, renewed(script.Answer{Outcome: script.Unknown}, i).Outcome, script.Unknown, "where it says nothing")
	}
}

// A hold that was entered for a longer lease is renewed to that, whatever those are that are renewed with it: what it
// counts on is no more than what the masters have.
func TestEnteredForALongerLease(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		enter := func(lease time.Duration) *Hold {
			req := watched("k")
			req.Owner, req.Lease = t, lease
			return fx.lock(t, req)
		}
		hold := enter(lease)
		time.Sleep(time.Second)
		enter(3 * lease)
		for range 20 {
			rest(lease / 5)
			left, has := hold.Remaining(), fx.Master(0).TTL("k")
			if left > has || has <= lease {
				t.Fatalf("%v is left of it, and %v of its lease of %v at a master", left, has, 3*lease)
			}
		}
		hold.end(attempt.End, poll.ErrNotHeld)
	})(t)
}

// An Extend that fails is no renewal that does: the log says nothing of it, nor of an outage that would be over, and
// what a fixed lease ends for is that it is over.
func TestAnExtendThatFails(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fixed := fx.take(t, fx.m, "fixed")
		renewed := fx.lock(t, watched("k"))
		extend := func(h *Hold) {
			t.Helper()
			check.Err(t, "Extend", h.Extend(t.Context(), entryOf(h), lease), poll.ErrNoQuorum)
		}
		fx.each((*redlocktest.Master).Freeze, 0, 1)
		extend(fixed)
		extend(renewed)
		check.Equal(t, len(fx.log.Lines("renewal failed")), 0, "lines in the log of an Extend")
		time.Sleep(attempt.RenewEvery(lease))
		check.AtLeast(t, len(fx.log.Lines("renewal failed")), 1, "lines in the log of a renewal that failed")
		extend(renewed)
		check.Equal(t, len(fx.log.Lines("succeed again")), 0, "lines in the log, in the outage, of its end")
		fx.each((*redlocktest.Master).Thaw, 0, 1)
		e := entryOf(fixed)
		rest(lease)
		e.wantEnded(t, poll.ErrLost)
		check.NotErr(t, "the end of a fixed lease", errors.Join(e.told()...), poll.ErrNoQuorum)
		unlock(t, renewed)
	})(t)
}

// A hold lives on while all masters restart empty, one after another, a guard apart. Each gets it back with
// the first renewal after its guard, and no guarded one does.
func TestRenewHeals(t *testing.T) {
	const guard = lease
	guarded(3, guard, func(t *testing.T, fx *fixture) {
		req := watched("k")
		hold := fx.lock(t, req)
		for i, master := range fx.Masters() {
			master.Restart()
			time.Sleep(guard - 2*time.Second)
			check.Equal(t, master.Holder("k"), "", "who m%d has, which is guarded", i+1)
			time.Sleep(2 * time.Second)
			time.Sleep(guard)
			check.Equal(t, master.Holder("k"), hold.Owner(), "who m%d has again", i+1)
		}
		req.Entry.(*entry).wantAlive(t)
		unlock(t, hold)
		fx.wantNothing(t, "then", fx.m)
	})(t)
}

// A release does not overtake a renewal that was made before it, or that would set the lock again where it has
// just been freed: it waits until the renewal of all is sent.
func TestRenewalThatCrossesARelease(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Hold){
		"Unlock": func(t *testing.T, hold *Hold) { unlock(t, hold) },
		"loss":   func(_ *testing.T, hold *Hold) { hold.end(attempt.Lose, poll.ErrLost) },
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			m, gate := fx.gated(t, 0)
			ends, stays := fx.take(t, m, "k"), fx.take(t, m, "stays")
			open := gate.shut()
			go m.renew(lease, []*driver{ends.d, stays.d})
			synctest.Wait()
			go end(t, ends)
			synctest.Wait()
			open()
			time.Sleep(time.Second)
			fx.wantHolders(t, "k", "- - -")
			fx.wantHolders(t, "stays", stays.Owner()+" "+stays.Owner()+" "+stays.Owner())
			unlock(t, stays)
			fx.wantNothing(t, "then", m)
		}))
	}
}

// Callers may ask for the owner while a downgrade makes a reader of it: what the race detector watches.
func TestOwnerBesideADowngrade(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		owner := hold.Owner()
		result := make(chan error, 1)
		go func() { result <- hold.Downgrade(t.Context(), entryOf(hold)) }()
		for range 1000 {
			check.Equal(t, hold.Owner(), owner, "Owner")
			fx.m.Since("k", owner)
		}
		check.OK(t, <-result)
		unlock(t, hold)
	})(t)
}
