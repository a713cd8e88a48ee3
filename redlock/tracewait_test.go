package redlock_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// Who waits is told of its place in the queue as that goes down, and of the hand-off by each master.
func TestTraceWait(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, other *redlock.Client, r *recorder) {
		first := lock(t, t.Context(), other, "a")
		second := await(t, open(t, fleet, redlock.Config{}), "a")
		time.Sleep(100 * time.Millisecond)
		third := await(t, c, "a")
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
		hold := <-second
		time.Sleep(2 * time.Second)
		r.expectTurns(t, "the first Unlock", "2: queued, 0 ahead")
		unlock(t, hold)
		hold = <-third
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

// A call's wait begins when it learns that it has to wait, a round trip after the call began.
func TestTraceWaited(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		var done redlocktrace.CallDone
		d := open(t, fleet, redlock.Config{Trace: &redlocktrace.Trace{CallDone: func(e redlocktrace.CallDone) { done = e }}})
		warm(t, d)
		first := lock(t, t.Context(), c, "a")
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(20 * time.Millisecond) })
		time.AfterFunc(time.Second, func() { expect(t, "Unlock", first.Unlock(t.Context())) })
		second := lock(t, t.Context(), d, "a")
		synctest.Wait()
		if got, want := done.Waited, done.Took-40*time.Millisecond; got <= 0 || got != want {
			t.Errorf("waited %v of %v, want %v", got, done.Took, want)
		}
		unlock(t, second)
	})
}

// A caller that waits behind others of its client is told how many, and has no place in the queue of
// the masters until it is the first of them: the next call of its client enters it.
func TestTraceLine(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		second, third := await(t, c, "a"), await(t, c, "a")
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
		hold = <-second
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
		fourth := await(t, c, "a")
		unlock(t, hold)
		hold = <-third
		synctest.Wait()
		r.take()
		unlock(t, hold) // at once
		hold = <-fourth
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

// A minority of votes is given back by a release that enters the next try into the queue.
func TestTraceMinority(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		each(fleet, 1, 3, func(m *redlocktest.Master) {
			m.HSet("a", another, "1")
			m.Expire("a", 3*time.Second)
		})
		got := await(t, c, "a")
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
		unlock(t, <-got)
	})
}

// A call that waits through an outage says so, and goes on when that ends.
func TestTraceOutage(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		time.Sleep(2 * time.Second)
		got := await(t, c, "a")
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
		hold := <-got
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
