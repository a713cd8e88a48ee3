package redlock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// traced runs f on time of its own, with three masters and two clients of them, of which the first
// is traced. The answers of a round come in the order of the masters, after 2, 4 and 8 ms.
func traced(t *testing.T, f func(t *testing.T, fleet *redlocktest.Fleet, c, other *redlock.Client, r *recorder)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		r := new(recorder)
		c, other := open(t, fleet, redlock.Config{Trace: r.trace()}), open(t, fleet, redlock.Config{})
		warm(t, c)
		loadScripts(t, fleet)
		for i, m := range fleet.Masters() {
			m.Delay(time.Millisecond << i)
		}
		r.take()
		f(t, fleet, c, other, r)
	})
}

// Who waits is told of its place in the queue as that goes down, and of the hand-off by each master.
func TestTraceWait(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, other *redlock.Client, r *recorder) {
		first := lock(t, t.Context(), other, "a")
		second := writer(t, open(t, fleet, redlock.Config{}))
		time.Sleep(100 * time.Millisecond)
		third := writer(t, c)
		time.Sleep(15 * time.Millisecond)
		r.expectSteps(t, "Lock of a taken name",
			`2: waits for lock "a"`,
			"2: asks 1.1 acquire at m0 m1 m2",
			"2: 1.1 acquire m0 refused",
			"2: queued, 1 ahead",
			"2: 1.1 acquire m1 refused",
			"2: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
			"2: waiting behind 0, taken by another owner",
			"2: 1.1 acquire m2 refused",
		)
		time.Sleep(5 * time.Second)
		r.expectTurns(t, "a wait in which nothing changes")
		unlock(t, first)
		hold := second.returned(t)
		time.Sleep(2 * time.Second)
		r.expectTurns(t, "the first Unlock", "2: queued, 0 ahead")
		unlock(t, hold)
		hold = third.returned(t)
		time.Sleep(time.Second)
		r.expectTurns(t, "the second Unlock",
			"2: handed off by m0",
			"2: decided minority: 1 granted, 2 refused, 0 failed, 2 needed",
			"2: handed off by m1",
			"2: decided won: 2 granted, 1 refused, 0 failed, 2 needed",
			"2: acquired",
			"2: renew confirmed",
		)
		unlock(t, hold)
		time.Sleep(time.Second)
		r.expectTurns(t, "its own Unlock", "2: unlocked after 1s", "2: released")
	})
}

// A caller that waits behind others of its client is told how many, and has no place in the queue of
// the masters until it is the first of them: the next call of its client enters it.
func TestTraceLine(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		second, third := writer(t, c), writer(t, c)
		time.Sleep(time.Second)
		r.expectTurns(t, "three callers",
			`2: waits for lock "a"`,
			"2: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"2: acquired",
			`3: waits for lock "a"`,
			"3: queued, 0 ahead",
			"3: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
			"3: waiting behind 0, taken by another owner",
			`4: waits for lock "a"`,
			"4: waiting behind 1, taken by another owner",
		)
		unlock(t, hold)
		hold = second.returned(t)
		time.Sleep(time.Second)
		r.expectTurns(t, "the first Unlock",
			"2: unlocked after 1s",
			"2: released",
			"3: handed off by m0",
			"3: decided minority: 1 granted, 2 refused, 0 failed, 2 needed",
			"3: handed off by m1",
			"3: decided won: 2 granted, 1 refused, 0 failed, 2 needed",
			"3: acquired",
			"3: renew confirmed",
			"4: queued, 0 ahead",
			"4: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
		)
		fourth := writer(t, c)
		unlock(t, hold)
		hold = third.returned(t)
		synctest.Wait()
		r.take()
		unlock(t, hold) // at once
		hold = fourth.returned(t)
		synctest.Wait()
		r.expectTurns(t, "an Unlock at once",
			"4: unlocked after 0s",
			"4: released, enters 5",
			"5: handed off by m0",
			"5: decided minority: 1 granted, 0 refused, 0 failed, 2 needed",
			"5: handed off by m1",
			"5: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"5: acquired",
		)
		unlock(t, hold)
	})
}

// A call that waits through an outage says so, and goes on when that ends.
func TestTraceOutage(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		time.Sleep(2 * time.Second)
		got := writer(t, c)
		time.Sleep(5 * time.Millisecond)
		r.expectSteps(t, "Lock in an outage",
			`2: waits for lock "a"`,
			"2: asks 1.1 acquire at m0 m1 m2",
			"2: 1.1 acquire m0 unsent",
			"2: 1.1 acquire m1 unsent",
			"2: decided lost: 0 granted, 0 refused, 2 failed, 2 needed",
			"2: waiting behind 0, no quorum",
		)
		time.Sleep(2 * time.Second)
		r.take()
		fleet.Master(0).Restart()
		hold := got.returned(t)
		time.Sleep(time.Millisecond)
		if turns := r.turns(); !slices.Contains(turns, "2: acquired") || slices.ContainsFunc(turns, func(s string) bool { return strings.HasPrefix(s, "2: waiting") }) {
			t.Errorf("the end of the outage told %q, want one acquired, and no more waiting", turns)
		}
		unlock(t, hold)
	})
}

// A call whose context ends gives back what it may have.
func TestTraceGivesUp(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, other *redlock.Client, r *recorder) {
		defer unlock(t, lock(t, t.Context(), other, "a"))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := c.Lock(ctx, "a")
		expect(t, "Lock", err, redlock.ErrTaken, context.DeadlineExceeded)
		time.Sleep(time.Second)
		r.expectTurns(t, "Lock whose context ends",
			`2: waits for lock "a"`,
			"2: queued, 0 ahead",
			"2: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
			"2: waiting behind 0, taken by another owner",
			"2: rolled back 1, gave_up, at m0 m1 m2",
			"2: context_ended",
		)
	})
}

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

// Close ends holds and calls, and nothing is told after it.
func TestTraceClose(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		writer(t, c)
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

// Readers have holds of their own, and one that cannot become a writer is told so.
func TestTraceReaders(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold, err := c.RLock(t.Context(), "a")
		expect(t, "RLock", err)
		also, err := c.TryRLock(t.Context(), "a")
		expect(t, "TryRLock", err)
		_, err = c.Lock(hold.Context(), "a")
		expect(t, "Lock", err, redlock.ErrUpgrade)
		unlock(t, hold)
		unlock(t, also)
		time.Sleep(time.Second)
		r.expectTurns(t, "two readers",
			`2: waits for read "a"`,
			"2: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"2: acquired",
			"2: unlocked after 4ms",
			"2: released",
			`3: tries read "a"`,
			"3: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"3: acquired",
			"3: unlocked after 4ms",
			"3: released",
			`4: waits for lock "a"`,
			"4: upgrade",
		)
	})
}

// A name that moves from one set to another is a call at the client of each. Where their tokens differ,
// the smaller one is raised.
func TestTraceSets(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, _ *redlock.Client) {
		f := startFleets(t, "a", "b", "c")
		old, next := new(recorder), new(recorder)
		s, err := redlock.NewSets(redlock.SetsConfig{Now: []string{"a", "b"}, Next: []string{"b", "c"}, Sets: map[string]redlock.Config{
			"a": {Pools: f["a"].Pools(), RestartGuard: -1, Trace: old.trace()},
			"b": {Pools: f["b"].Pools(), RestartGuard: -1},
			"c": {Pools: f["c"].Pools(), RestartGuard: -1, Trace: next.trace()},
		}})
		expect(t, "NewSets", err)
		t.Cleanup(func() { s.Close() })
		name := nameIn(t, s, "a", "c")
		for _, m := range f["c"].Masters() {
			m.Set("redlock_fence:{"+name+"}", "5000000000000000")
		}
		hold := lock(t, t.Context(), s, name)
		time.Sleep(time.Second)
		unlock(t, hold)
		time.Sleep(time.Second)
		call := []string{
			fmt.Sprintf("1: tries lock %q", name),
			"1: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"1: acquired",
			"1: unlocked after 1s",
			"1: released",
		}
		next.expectTurns(t, "the new set", call...)
		raised := 0
		old.mu.Lock()
		for _, e := range old.events {
			if e, ok := e.(redlocktrace.Voted); ok && e.Ask == redlocktrace.AskRaise && e.Vote == redlocktrace.VoteGranted {
				raised++
			}
		}
		old.mu.Unlock()
		if raised != 3 {
			t.Errorf("%d masters of the old set raised their counter, want 3", raised)
		}
		old.expectTurns(t, "the old set", call...)
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

// A minority of votes is given back by a release that enters the next try into the queue.
func TestTraceMinority(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		each(fleet, 1, 3, func(m *redlocktest.Master) {
			m.HSet("a", another, "1")
			m.Expire("a", 3*time.Second)
		})
		got := writer(t, c)
		time.Sleep(40 * time.Millisecond)
		steps := r.steps()
		expectLines(t, "Lock of a name of which one master is free", steps[:min(10, len(steps))], []string{
			`2: waits for lock "a"`,
			"2: asks 1.1 acquire at m0 m1 m2",
			"2: 1.1 acquire m0 granted",
			"2: 1.1 acquire m1 refused",
			"2: queued, 0 ahead",
			"2: 1.1 acquire m2 refused",
			"2: decided minority: 1 granted, 2 refused, 0 failed, 2 needed",
			"2: waiting behind 0, taken by another owner",
			"2: rolled back 1, backed_off, at m0 m1 m2",
			"2: asks 2.2 acquire at , entered by a release at m0 m1 m2",
		})
		unlock(t, got.returned(t))
	})
}
