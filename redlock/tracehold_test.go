package redlock_test

import (
	"slices"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// A renewal gives the hold back to a master that has lost it, and is told with the validity that was
// left and that there is now.
func TestTraceRenewal(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(time.Second)
		r.take()
		fleet.Master(0).Del("a")
		time.Sleep(renewEvery)
		told := r.take()
		if i := slices.IndexFunc(told, func(e any) bool { _, ok := e.(redlocktrace.Renewed); return ok }); i < 0 {
			t.Errorf("a renewal told %v", told)
		} else if got := told[i].(redlocktrace.Renewed); got.Left != validity-renewEvery-4*time.Millisecond || got.Validity != validity-4*time.Millisecond ||
			got.Took != 4*time.Millisecond || !slices.Equal(got.Healed, []string{"pool 0"}) || got.Owner != hold.Owner() || got.Token != hold.Token() {
			t.Errorf("Renewed = %+v", got)
		}
		fleet.Master(0).Del("a")
		expect(t, "Extend", hold.Extend(t.Context(), lease))
		expect(t, "Downgrade", hold.Downgrade(t.Context()))
		time.Sleep(time.Second)
		r.expectSteps(t, "Extend and Downgrade",
			"2: healed by m0",
			"2: extend confirmed",
			"2: downgrade confirmed",
		)
		each(fleet, 0, 2, (*redlocktest.Master).Freeze)
		time.Sleep(renewEvery)
		r.expectSteps(t, "a renewal without a majority", "2: renew unconfirmed")
		each(fleet, 0, 2, (*redlocktest.Master).Thaw)
		time.Sleep(time.Second)
		unlock(t, hold)
	})
}

// A hold ends once, whatever ends it.
func TestTraceHoldEnds(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(time.Second)
		r.take()
		seize(fleet, 0, 2)
		<-hold.Context().Done()
		time.Sleep(time.Second)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		r.expectSteps(t, "a hold that others have taken", "2: renew missing", "2: lost after 10.004s", "2: released, hold lost")

		hold = lockFor(t, t.Context(), c, "b", time.Second)
		time.Sleep(100 * time.Millisecond)
		r.take()
		<-hold.Context().Done()
		time.Sleep(time.Second)
		r.expectSteps(t, "a lease that ends", "3: expired after 984ms", "3: released")
	})
}

// Close ends holds and calls, and nothing is told after it.
func TestTraceClose(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		await(t, c, "a")
		time.Sleep(time.Second)
		r.take()
		expect(t, "Close", c.Close())
		r.mu.Lock() // without waiting
		last := r.events[len(r.events)-1]
		r.mu.Unlock()
		if _, ok := last.(redlocktrace.ClientClosed); !ok {
			t.Errorf("the last event when Close has returned is %T, want ClientClosed", last)
		}
		r.expectTurns(t, "Close", "2: closed after 1s", "2: released", "3: rolled back 1, gave_up, at m0 m1 m2", "3: closed")
		_, err := c.Lock(t.Context(), "a")
		expect(t, "Lock", err, redlock.ErrClosed)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrClosed)
		expect(t, "Close", c.Close())
		time.Sleep(time.Minute)
		if late := r.take(); len(late) > 0 {
			t.Errorf("a closed client told %v", late)
		}
	})
}

// A re-entry is a call without a hold of its own.
func TestTraceReentry(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(time.Second)
		r.take()
		again := lock(t, hold.Context(), c, "a")
		time.Sleep(time.Second)
		unlock(t, again)
		unlock(t, hold)
		time.Sleep(time.Second)
		r.expectSteps(t, "a re-entry",
			`3: waits for lock "a"`,
			"3: asks 1.1 enter at m0 m1 m2",
			"3: 1.1 enter m0 granted",
			"3: 1.1 enter m1 granted",
			"3: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"3: acquired, 1 tries, 1 rounds, entered 2",
			"3: 1.1 enter m2 granted",
			"2: unlocked after 2.008s",
			"2: released",
		)
	})
}
