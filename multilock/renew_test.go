package multilock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
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
		fx.each((*redlocktest.Master).Kill)
		rest(time.Second)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		for range 10 { // what came of it counts, though its caller would wait no more
			check.Err(t, "Extend, answered at once", renewed.Extend(ended, entryOf(renewed), lease), poll.ErrNoQuorum)
		}
	})(t)
}

// However many extend a hold at a time, each is told what came of it, though the attempt forgets the first of them.
func TestManyExtendAtOnce(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		e := entryOf(hold)
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var all []<-chan error
		for range 2 * attempt.MaxRounds {
			all = append(all, during(func() error { return hold.Extend(ctx, e, lease) }))
		}
		rest(time.Second)
		for i, told := range all {
			check.Equal(t, len(told), 1, "Extend number %d has returned", i+1)
		}
		unlock(t, hold)
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

// When renewals are made, together and apart, and what the watchdog does after a suspend.

// Renewals of many holds, taken in a burst, are spread over the time between two of them: a master is never
// kept for longer than a batch takes.
func TestABurstIsSpread(t *testing.T) {
	const n = 20 * batch
	bubble(1, func(t *testing.T, fx *fixture) {
		for i := range n {
			fx.lock(t, watched(fmt.Sprint("k", i)))
		}
		time.Sleep(3 * lease) // they have spread
		every := attempt.RenewEvery(lease)
		start, most := time.Now(), int64(0)
		before := fx.Master(0).Calls("EVALSHA")
		last := before
		for range 100 {
			rest(every / 100)
			now := fx.Master(0).Calls("EVALSHA")
			most, last = max(most, now-last), now
		}
		calls := last - before
		if took := time.Since(start).Truncate(every / 100); calls < n/batch || calls > 4*n/batch || most > 3 {
			t.Errorf("%d script calls in %v for %d holds, %d at most in a hundredth of it; want %d to %d, and 3",
				calls, took, n, most, n/batch, 4*n/batch)
		}
		for _, h := range fx.m.holds() {
			check.AtLeast(t, h.Remaining(), lease/2, "what is left of %q", h.Name())
		}
		fx.m.watchdog.catchUp(lease) // all are due
		poke(fx.m.watchdog.wake)
		rest(5 * gap)
		check.AtMost(t, fx.Master(0).Calls("EVALSHA")-last, 6, "script calls within five gaps, though all are due")
	})(t)
}

// Renewals for another lease go in a call of their own: in one, and not in one for each.
func TestRenewalsForSeveralLeases(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		const n = batch / 2 // more would be spread
		for i := range 2 * n {
			req := watched(fmt.Sprint("k", i))
			if i >= n {
				req.Lease = 2 * lease
			}
			fx.lock(t, req)
			time.Sleep(time.Millisecond)
		}
		both := 2 * attempt.RenewEvery(lease) // when all of them are due
		time.Sleep(both - time.Second)
		before := fx.Master(0).Calls("EVALSHA")
		time.Sleep(2 * time.Second)
		check.Equal(t, fx.Master(0).Calls("EVALSHA")-before, 2, "script calls for %d holds of two leases", 2*n)
		time.Sleep(5 * lease)
		for _, h := range fx.m.holds() {
			check.Between(t, h.Remaining(), h.d.state.Lease/2, h.d.state.Lease, "%q is valid for", h.Name())
		}
	})(t)
}

// A renewal that is put off, or is due at once, changes its place among those that are scheduled.
func TestRenewalsAreMadeInOrder(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		long := func(key string) Request {
			req := watched(key)
			req.Lease = 20 * lease
			return req
		}
		fx.m.subscribe()
		holder := fx.take(t, fx.m, "handed off")
		req := long("handed off")
		req.Wait = true
		waits := begin(t, fx.m, req)
		time.Sleep(time.Second)
		short := fx.lock(t, watched("k"))
		unlock(t, holder)
		last := waits.wantHold(t, "handed off") // it is renewed soon, and then not for long
		time.Sleep(lease)
		entryOf(short).wantAlive(t)

		doubted := fx.lock(t, long("doubted"))
		time.Sleep(time.Second)
		left := doubted.Remaining()
		fx.m.Doubted(0)
		rest(time.Millisecond)
		check.AtLeast(t, doubted.Remaining(), left+1, "what is left of a hold that a master may have forgotten")
		for _, h := range []*Hold{short, last, doubted} {
			unlock(t, h)
		}
	})(t)
}

// slept is how long the machine has been suspended, as the clients of asleep see it.
var slept atomic.Int64

// asleep runs f with a client, and a function that has holds end by a suspend: their validity is over, and no
// timer has moved. It is no parallel test: what others know of suspends changes.
func asleep(f func(t *testing.T, fx *fixture, suspend func(...*Hold))) func(*testing.T) {
	return func(t *testing.T) {
		slept.Store(0)
		suspended = func() time.Duration { return time.Duration(slept.Load()) }
		defer func() { suspended = clock.Suspended }()
		bubble(3, func(t *testing.T, fx *fixture) {
			f(t, fx, func(holds ...*Hold) {
				for _, h := range holds {
					h.d.mu.Lock()
					h.d.state.Until = clock.Now().Add(-time.Minute)
					h.d.mu.Unlock()
				}
				slept.Add(int64(time.Hour))
			})
		})(t)
	}
}

// After a suspend the loss is known at once to those who ask, and within a second to those who wait, of
// holds with a fixed lease and of others.
func TestSuspend(t *testing.T) {
	asleep(func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
		fixed := fx.take(t, fx.m, "fixed")
		req := watched("k")
		renewed := fx.lock(t, req)
		goesOn := fx.lock(t, watched("goes on"))
		unlocked := fx.take(t, fx.m, "unlocked")
		time.Sleep(time.Second / 2)
		until := goesOn.Until()
		suspend(fixed, renewed, unlocked)
		check.Err(t, "Unlock after the suspend", unlocked.Unlock(t.Context(), entryOf(unlocked)), poll.ErrLost)
		check.Err(t, "Check after the suspend", renewed.Check(), poll.ErrLost)
		req.Entry.(*entry).wantEnded(t, poll.ErrLost)
		entryOf(fixed).wantAlive(t)
		rest(suspendWatch)
		entryOf(fixed).wantEnded(t, poll.ErrLost)
		check.That(t, goesOn.Until().After(until), "a hold that outlasted the suspend was not renewed, though its timer stood still")
		unlock(t, goesOn)
		fx.wantNothing(t, "then", fx.m)
	})(t)
}

// The caller that gets the lock next ends the hold before, whose timer stood still.
func TestTheNextHoldEndsTheOneBefore(t *testing.T) {
	for name, req := range map[string]Request{"a try": request("k"), "one that waits": patient("k")} {
		t.Run(name, asleep(func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
			var latest *Hold
			first := request("k")
			e := &entry{then: func() { latest = fx.m.latest("k") }}
			first.Entry = e
			suspend(fx.lock(t, first))
			fx.each(func(m *redlocktest.Master) { m.Del("k") })
			hold := fx.lock(t, req)
			e.wantEnded(t, poll.ErrLost)
			check.That(t, latest == hold, "when the first hold ends, the next is not the latest")
			unlock(t, hold)
		}))
	}
}

// Where the time asleep is told by the wall clock, a clock that was set back hides no suspend that follows.
func TestSuspendAfterTheClockWasSetBack(t *testing.T) {
	asleep(func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
		hold := fx.take(t, fx.m, "k")
		e := entryOf(hold)
		slept.Add(-2 * int64(time.Hour))
		rest(2 * suspendWatch)
		e.wantAlive(t)
		suspend(hold)
		rest(suspendWatch)
		e.wantEnded(t, poll.ErrLost)
	})(t)
}

// The cause of a loss is the loss itself, and not a renewal that failed long before others succeeded, or before the hold
// was to be renewed no more.
func TestLossAfterAnOutageThatIsOver(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *fixture, *Hold, func(...*Hold)){
		"renewed since": func(t *testing.T, fx *fixture, hold *Hold, suspend func(...*Hold)) {
			fx.each((*redlocktest.Master).RestartWithData)
			check.OK(t, fx.m.Clients.Ready(t.Context()))
			time.Sleep(lease)
			suspend(hold)
		},
		"renewed no more": func(_ *testing.T, _ *fixture, hold *Hold, _ func(...*Hold)) {
			req := request("k")
			hold.Rewish(entryOf(hold), &req)
			time.Sleep(lease)
		},
	} {
		t.Run(name, asleep(func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
			req := watched("k")
			hold := fx.lock(t, req)
			time.Sleep(3 * time.Second)
			fx.each((*redlocktest.Master).Kill)
			time.Sleep(2 * time.Second)
			check.AtLeast(t, len(fx.log.Lines("renewal failed")), 1, "renewals that failed")
			end(t, fx, hold, suspend)
			rest(suspendWatch)
			e := req.Entry.(*entry)
			e.wantEnded(t, poll.ErrLost)
			check.NotErr(t, "the end, after an outage,", errors.Join(e.told()...), poll.ErrNoQuorum)
		}))
	}
}
