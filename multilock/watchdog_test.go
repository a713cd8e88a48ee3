package multilock

import (
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
	"example.com/redlock/redlocktest"
)

// When renewals are made, together and apart, and what the watchdog does after a suspend.

// Renewals of many holds, taken in a burst, are spread over the time between two of them: a master is never
// kept for longer than a batch takes.
func TestABurstIsSpread(t *testing.T) {
	const n = 20 * batch
	inBubble(t, 1, func(t *testing.T, fx *fixture) {
		for i := range n {
			req := watched()
			req.Key = fmt.Sprint("k", i)
			fx.lock(t, req)
		}
		time.Sleep(3 * lease) // they have spread
		every := attempt.RenewEvery(lease)
		start, most := time.Now(), int64(0)
		before := fx.Master(0).Calls("EVALSHA")
		last := before
		for range 100 {
			time.Sleep(every / 100)
			synctest.Wait()
			now := fx.Master(0).Calls("EVALSHA")
			most, last = max(most, now-last), now
		}
		calls := last - before
		if took := time.Since(start).Truncate(every / 100); calls < n/batch || calls > 4*n/batch || most > 3 {
			t.Errorf("%d script calls in %v for %d holds, %d at most in a hundredth of it; want %d to %d, and 3",
				calls, took, n, most, n/batch, 4*n/batch)
		}
		for _, h := range fx.m.holds() {
			if left := h.Remaining(); left < lease/2 {
				t.Errorf("%q is valid for %v, want half of its lease at least", h.Name(), left)
			}
		}
	})
}

// Renewals for another lease go in a call of their own: in one, and not in one for each.
func TestRenewalsForSeveralLeases(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		const n = batch / 2 // more would be spread
		for i := range 2 * n {
			req := watched()
			req.Key = fmt.Sprint("k", i)
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
		if got := fx.Master(0).Calls("EVALSHA") - before; got != 2 {
			t.Errorf("%d script calls for %d holds of two leases, want 2", got, 2*n)
		}
		time.Sleep(5 * lease)
		for _, h := range fx.m.holds() {
			if left, most := h.Remaining(), h.d.state.Lease; left < most/2 || left > most {
				t.Errorf("%q is valid for %v, want half of %v to all of it", h.Name(), left, most)
			}
		}
	})
}

// A renewal that is put off, or is due at once, changes its place among those that are scheduled.
func TestRenewalsAreMadeInOrder(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		long := func(key string) Request {
			req := watched()
			req.Key, req.Lease = key, 20*lease
			return req
		}
		fx.m.subscribe()
		holder := fx.take(t, fx.m, "handed off")
		req := long("handed off")
		req.Wait = true
		waits := begin(t, fx.m, req)
		time.Sleep(time.Second)
		short := fx.lock(t, watched())
		unlock(t, holder)
		last := waits.wantHold(t, "handed off") // it is renewed soon, and then not for long
		time.Sleep(lease)
		entryOf(short).wantAlive(t)

		doubted := fx.lock(t, long("doubted"))
		time.Sleep(time.Second)
		left := doubted.Remaining()
		fx.m.Doubted(0)
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if doubted.Remaining() <= left {
			t.Error("a hold was not renewed at once that a master may have forgotten")
		}
		for _, h := range []*Hold{short, last, doubted} {
			unlock(t, h)
		}
	})
}

// slept is how long the machine has been suspended, as the clients of asleep see it.
var slept atomic.Int64

// asleep runs f with a client, and a function that has holds end by a suspend: their validity is over, and no
// timer has moved. It is no parallel test: what others know of suspends changes.
func asleep(t *testing.T, f func(t *testing.T, fx *fixture, suspend func(...*Hold))) {
	t.Helper()
	slept.Store(0)
	suspended = func() time.Duration { return time.Duration(slept.Load()) }
	defer func() { suspended = clock.Suspended }()
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		f(t, fx, func(holds ...*Hold) {
			for _, h := range holds {
				h.d.mu.Lock()
				h.d.state.Until = clock.Now().Add(-time.Minute)
				h.d.mu.Unlock()
			}
			slept.Add(int64(time.Hour))
		})
	})
}

// After a suspend the loss is known at once to those who ask, and within a second to those who wait, of
// holds with a fixed lease and of others.
func TestSuspend(t *testing.T) {
	asleep(t, func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
		fixed := fx.take(t, fx.m, "fixed")
		req := watched()
		renewed := fx.lock(t, req)
		other := watched()
		other.Key = "goes on"
		goesOn := fx.lock(t, other)
		time.Sleep(time.Second / 2)
		until := goesOn.Until()
		suspend(fixed, renewed)
		if err := renewed.Check(); !errors.Is(err, poll.ErrLost) {
			t.Errorf("Check after the suspend = %v, want ErrLost", err)
		}
		req.Entry.(*entry).wantEnded(t, poll.ErrLost)
		entryOf(fixed).wantAlive(t)
		time.Sleep(suspendWatch)
		synctest.Wait()
		entryOf(fixed).wantEnded(t, poll.ErrLost)
		if !goesOn.Until().After(until) {
			t.Error("a hold that outlasted the suspend was not renewed, though its timer stood still")
		}
		unlock(t, goesOn)
		fx.wantNothing(t, "then", fx.m)
	})
}

// Where the time asleep is told by the wall clock, a clock that was set back hides no suspend that follows.
func TestSuspendAfterTheClockWasSetBack(t *testing.T) {
	asleep(t, func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
		hold := fx.take(t, fx.m, "k")
		e := entryOf(hold)
		slept.Add(-2 * int64(time.Hour))
		time.Sleep(2 * suspendWatch)
		synctest.Wait()
		e.wantAlive(t)
		suspend(hold)
		time.Sleep(suspendWatch)
		synctest.Wait()
		e.wantEnded(t, poll.ErrLost)
	})
}

// The cause of a loss is the loss itself, and not a renewal that failed long before others succeeded.
func TestLossAfterAnOutageThatIsOver(t *testing.T) {
	asleep(t, func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
		req := watched()
		hold := fx.lock(t, req)
		time.Sleep(3 * time.Second)
		fx.each((*redlocktest.Master).Kill)
		time.Sleep(2 * time.Second)
		if len(fx.log.Lines("renewal failed")) == 0 {
			t.Fatal("no renewal failed")
		}
		fx.each((*redlocktest.Master).RestartWithData)
		check.OK(t, fx.m.Clients.Ready(t.Context()))
		time.Sleep(lease)
		suspend(hold)
		time.Sleep(suspendWatch)
		synctest.Wait()
		e := req.Entry.(*entry)
		e.wantEnded(t, poll.ErrLost)
		if told := e.told(); len(told) == 1 && errors.Is(told[0], poll.ErrNoQuorum) {
			t.Errorf("told %v, want nothing of an outage that was over", told[0])
		}
	})
}
