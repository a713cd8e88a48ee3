package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
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

func TestTraceLock(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, _ *redlock.Client, r *recorder) {
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(time.Second)
		r.expectSteps(t, "Lock of a free name",
			`2: waits for lock "a"`,
			"2: asks 1.1 acquire at m0 m1 m2",
			"2: 1.1 acquire m0 granted",
			"2: 1.1 acquire m1 granted",
			"2: decided won: 2 granted, 0 refused, 0 failed, 2 needed",
			"2: acquired, 1 tries, 1 rounds",
			"2: 1.1 acquire m2 granted",
		)
		unlock(t, hold)
		time.Sleep(time.Second)
		r.expectSteps(t, "Unlock", "2: unlocked after 1s", "2: released")
	})
}

func TestTraceTaken(t *testing.T) {
	traced(t, func(t *testing.T, _ *redlocktest.Fleet, c, other *redlock.Client, r *recorder) {
		defer unlock(t, lock(t, t.Context(), other, "a"))
		for range 2 { // the first looks up the holder's client, and the second knows it
			r.take()
			_, err := c.TryLock(t.Context(), "a")
			expect(t, "TryLock", err, redlock.ErrTaken)
			time.Sleep(time.Second)
		}
		r.expectSteps(t, "TryLock of a taken name",
			`3: tries lock "a"`,
			"3: asks 1.1 acquire at m0 m1 m2",
			"3: 1.1 acquire m0 refused",
			"3: 1.1 acquire m1 refused",
			"3: decided lost: 0 granted, 2 refused, 0 failed, 2 needed",
			"3: rolled back 1, lost, at m2",
			"3: taken, 1 tries, 1 rounds",
			"3: 1.1 acquire m2 refused",
		)
	})
}
