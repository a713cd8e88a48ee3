package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A minority that is dead, silent or slow costs no time: neither a caller that locks, nor one that the lock is handed to.
func TestMinorityCostsNoTime(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
		"dead":    (*redlocktest.Master).Kill,
		"slow":    func(m *redlocktest.Master) { m.Delay(time.Second) },
	} {
		t.Run(name, bubble(5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			const trip = 2 * time.Millisecond
			d := open(t, fleet, redlock.Config{})
			use(t, c, "warm")
			use(t, d, "warm")
			each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(trip / 2) })
			hold := lock(t, t.Context(), c, "handed over")
			next := locking(t, d, "handed over")
			time.Sleep(1037 * time.Millisecond)
			each(fleet, 0, 2, fault)
			start := time.Now()
			go hold.Unlock(t.Context())
			hold = next.returned(t)
			check.Equal(t, time.Since(start), trip, "the next holder had the lock after")
			for range 20 {
				start := time.Now()
				unlock(t, lock(t, t.Context(), c, "a"))
				check.Equal(t, time.Since(start), 2*trip, "two round trips: Lock and Unlock took")
				time.Sleep(100 * time.Millisecond)
			}
			expectAlive(t, hold)
		}))
	}
}

// Ready waits for the restart guard, which is on by default. The first lock after it takes no time.
func TestReady(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		each(fleet, 0, 3, (*redlocktest.Master).Restart)
		c, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
		expect(t, "New", err)
		defer c.Close()
		synctest.Wait()
		ctx := within(t, t.Context(), time.Second)
		err = c.Ready(ctx)
		expect(t, "Ready", err, redlock.ErrGuarded, redlock.ErrNoQuorum, context.DeadlineExceeded)
		var why *redlock.MajorityError
		if !errors.As(err, &why) || why.Guard < lease-time.Second || why.Guard > lease+2*time.Second {
			t.Fatalf("Ready = %v, want a MajorityError with the time that is left", err)
		}
		start := time.Now()
		expect(t, "Ready", c.Ready(t.Context()))
		check.Between(t, time.Since(start), why.Guard-time.Millisecond, why.Guard+time.Millisecond, "Ready after")
		start = time.Now()
		unlock(t, lock(t, t.Context(), c, "a"))
		check.AtMost(t, time.Since(start), time.Millisecond, "Lock, when it was ready, took")

		// Close ends the wait.
		each(fleet, 0, 3, (*redlocktest.Master).Kill)
		time.Sleep(settle)
		time.AfterFunc(time.Minute, func() { c.Close() })
		start = time.Now()
		for range 2 { // the second is of a client that is closed
			expect(t, "Ready", c.Ready(t.Context()), redlock.ErrClosed)
			check.Between(t, time.Since(start), time.Minute, time.Minute+3*nodeTimeout, "Close came after a minute: Ready returned after")
		}
	})(t)
}

// If only a minority names a holder, the error is no ErrTaken. It lists the masters that were silent as well.
func TestAMinorityDoesNotSayTaken(t *testing.T) {
	bubble(5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), c, "a")
		other := open(t, fleet, redlock.Config{})
		expect(t, "Ready", other.Ready(t.Context()))
		unlock(t, lock(t, t.Context(), other, "b"))
		each(fleet, 0, 3, (*redlocktest.Master).Freeze)
		for what, lock := range map[string]func(context.Context, string, ...redlock.Option) (*redlock.Hold, error){"TryLock": other.TryLock, "Lock": other.Lock} {
			_, err := lock(within(t, t.Context(), nodeTimeout/4), "a")
			expect(t, what, err, redlock.ErrNoQuorum, context.DeadlineExceeded)
			expectNot(t, what, err, redlock.ErrTaken)
			why, _ := errors.AsType[*redlock.MajorityError](err)
			check.Equal(t, len(why.Masters), 5, "masters that the error of %s tells of", what)
		}
	})(t)
}

// In an outage, a client that has yet to take its first lock asks the minority that is left nothing, however many callers
// wait: it could not be established.
func TestNewcomersWaitForAMajority(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 1, 3, (*redlocktest.Master).Kill)
		time.Sleep(settle)
		left := fleet.Master(0)
		left.Delay(time.Millisecond)
		before := left.Calls("EVAL") + left.Calls("EVALSHA")
		var calls []*waiting
		for i := range 100 {
			calls = append(calls, locking(t, c, fmt.Sprint("n-", i)))
		}
		time.Sleep(10 * time.Second)
		check.Equal(t, left.Calls("EVAL")+left.Calls("EVALSHA")-before, 0, "scripts that the master ran that was left")
		each(fleet, 1, 3, (*redlocktest.Master).RestartWithData)
		for _, w := range calls {
			<-w.done
			if expect(t, "Lock after the outage", w.err); w.hold != nil {
				unlock(t, w.hold)
			}
		}
	})(t)
}

// A test loses a hold, or a renewal brings it back, as package redlocktest says.
func TestWaysToLose(t *testing.T) {
	on := func(n int, do func(*redlocktest.Master)) func(*redlocktest.Fleet) {
		return func(fleet *redlocktest.Fleet) { each(fleet, 0, n, do) }
	}
	const guard = 30 * time.Second
	for name, c := range map[string]struct {
		guard time.Duration
		do    func(*redlocktest.Fleet)
		lost  time.Duration // within this; 0: never
	}{
		"restart":         {guard, on(2, (*redlocktest.Master).Restart), time.Second},
		"cut":             {guard, on(2, (*redlocktest.Master).Cut), validity},
		"freeze":          {guard, on(2, (*redlocktest.Master).Freeze), validity},
		"kill":            {guard, on(2, (*redlocktest.Master).Kill), validity},
		"somebody has it": {guard, func(fleet *redlocktest.Fleet) { seize(fleet, 0, 2) }, 10 * time.Second},
		"del":             {guard, on(3, func(m *redlocktest.Master) { m.Del("a") }), 0},
		"flush":           {guard, on(3, (*redlocktest.Master).FlushAll), 0},
		"no guard":        {redlock.GuardOff, on(3, (*redlocktest.Master).Restart), 0},
	} {
		t.Run(name, masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
			client := open(t, fleet, redlock.Config{RestartGuard: c.guard})
			hold := lock(t, t.Context(), client, "a")
			synctest.Wait()
			c.do(fleet)
			if c.lost == 0 {
				rest(time.Minute)
				expectAlive(t, hold)
				unlock(t, hold)
				return
			}
			rest(c.lost)
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		}))
	}
}
