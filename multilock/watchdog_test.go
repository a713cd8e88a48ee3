package multilock

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/redlocktest"
)

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
		time.Sleep(time.Second / 2)
		until := goesOn.Until()
		suspend(fixed, renewed)
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

// The cause of a loss is the loss itself, and not a renewal that failed long before others succeeded.
func TestLossAfterAnOutageThatIsOver(t *testing.T) {
	asleep(func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
		req := watched("k")
		hold := fx.lock(t, req)
		time.Sleep(3 * time.Second)
		fx.each((*redlocktest.Master).Kill)
		time.Sleep(2 * time.Second)
		check.AtLeast(t, len(fx.log.Lines("renewal failed")), 1, "renewals that failed")
		fx.each((*redlocktest.Master).RestartWithData)
		check.OK(t, fx.m.Clients.Ready(t.Context()))
		time.Sleep(lease)
		suspend(hold)
		rest(suspendWatch)
		e := req.Entry.(*entry)
		e.wantEnded(t, poll.ErrLost)
		check.NotErr(t, "the end, long after an outage,", errors.Join(e.told()...), poll.ErrNoQuorum)
	})(t)
}
