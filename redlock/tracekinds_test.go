package redlock_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// A majority whose counters differ is asked to raise them before the lock is won.
func TestTraceToken(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		for i, m := range fleet.Masters() {
			m.Set("redlock_fence:{a}", fmt.Sprint(5_000_000_000_000_000+10*i))
		}
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(time.Second)
		r.expectSteps(t, "Lock with three counters",
			`2: waits for lock "a"`,
			"2: asks 1.1 acquire at m0 m1 m2",
			"2: 1.1 acquire m0 granted",
			"2: 1.1 acquire m1 granted",
			"2: decided majority: 2 granted, 0 refused, 0 failed, 2 needed",
			"2: asks 1.1 raise at m0 m2",
			"2: 1.1 raise m0 granted",
			"2: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"2: acquired, 1 tries, 2 rounds",
			"2: 1.1 acquire m2 granted",
			"2: 1.1 raise m2 refused",
		)
		unlock(t, hold)
	})
}

// LockAll is a call for each name. One that is taken is called again, to wait.
func TestTraceLockAll(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, other *redlock.Client, r *recorder) {
		holds, err := c.LockAll(t.Context(), "b", "a")
		expect(t, "LockAll", err)
		expect(t, "Unlock", holds.Unlock(t.Context()))
		time.Sleep(time.Second)
		r.expectTurns(t, "LockAll",
			`2: tries lock "a"`,
			"2: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"2: acquired",
			"2: unlocked after 0s",
			"2: released",
			`3: tries lock "b"`,
			"3: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"3: acquired",
			"3: unlocked after 0s",
			"3: released",
		)

		taken := lock(t, t.Context(), other, "a")
		got := make(chan *redlock.Holds)
		go func() {
			holds, _ := c.LockAll(t.Context(), "b", "a")
			got <- holds
		}()
		time.Sleep(time.Second)
		unlock(t, taken)
		holds = <-got
		time.Sleep(time.Second)
		r.expectTurns(t, "LockAll with a name that is taken",
			`4: tries lock "a"`,
			"4: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
			"4: rolled back 1, lost, at m2",
			"4: taken",
			`5: tries lock "b"`,
			"5: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"5: acquired",
			"5: unlocked after 0s",
			"5: released",
			`6: waits for lock "a"`,
			"6: queued, 0 ahead",
			"6: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
			"6: waiting behind 0, taken by another owner",
			"6: handed off by m0",
			"6: decided minority: 1 granted, 2 refused, 0 failed, 2 needed",
			"6: handed off by m1",
			"6: decided won: 2 granted, 1 refused, 0 failed, 2 needed",
			"6: acquired",
			"6: renew confirmed",
			`7: waits for lock "b"`,
			"7: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"7: acquired",
		)
		expect(t, "Unlock", holds.Unlock(t.Context()))
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

func TestTracePermits(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		s := c.Semaphore("a", 1)
		hold, err := s.Acquire(t.Context())
		expect(t, "Acquire", err)
		_, err = s.TryAcquire(t.Context())
		expect(t, "TryAcquire", err, redlock.ErrTaken)
		unlock(t, hold)
		time.Sleep(time.Second)
		r.expectTurns(t, "a permit",
			`2: waits for permit "a"`,
			"2: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"2: acquired",
			"2: unlocked after 4ms",
			"2: released",
			`3: tries permit "a"`,
			"3: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
			"3: rolled back 1, lost, at m2",
			"3: taken",
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
		hold := setLock(t, t.Context(), s, name)
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

func TestTraceMasters(t *testing.T) {
	traced(t, func(t *testing.T, fleet *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		defer unlock(t, lock(t, t.Context(), c, "a")) // so that masters are checked each second
		m := fleet.Master(0)
		for _, tt := range []struct {
			what string
			do   func()
			wait time.Duration
			want []string
		}{
			{"a master that dies", m.Kill, 5 * time.Second, []string{"m0 down"}},
			{"a master that is back", m.Restart, 5 * time.Second, []string{"m0 up"}},
			{"a master that becomes a replica", func() { m.SetRole("slave") }, 5 * time.Second, []string{"m0 refused"}},
			{"a replica that becomes a master", func() { m.SetRole("master") }, 5 * time.Second, []string{"m0 up"}},
			{"a clock that jumps ahead", func() { m.Skew(time.Second) }, 5 * time.Second, []string{"m0 unsteady"}},
			{"a clock that keeps up", func() {}, time.Minute, []string{"m0 steady"}},
			{"a clock that is set back", func() { m.Skew(0) }, 5 * time.Second, []string{"m0 behind"}},
		} {
			tt.do()
			time.Sleep(tt.wait)
			r.expectMasters(t, tt.what, tt.want...)
		}
	})
}

func TestTraceGuard(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		r := new(recorder)
		open(t, fleet, redlock.Config{Trace: r.trace(), RestartGuard: lease})
		r.take()
		fleet.Master(0).Restart()
		time.Sleep(2 * time.Second)
		r.expectMasters(t, "a master that restarts", "m0 down", "m0 up", "m0 guarded")
		time.Sleep(time.Minute)
		r.expectMasters(t, "the end of its guard", "m0 granting")
	})
}
