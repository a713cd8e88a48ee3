package redlock_test

import (
	"fmt"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// expectWithin wants the next holder at most that long after start, and gives its hold
// back.
func expectWithin(t *testing.T, next *waiting, start time.Time, most time.Duration) {
	t.Helper()
	hold := next.returned(t)
	if got := time.Since(start); got > most {
		t.Errorf("the next holder had the lock after %v, want at most %v", got, most)
	}
	expectAlive(t, hold)
	unlock(t, hold)
}

// The release falls at every point of a waiter's first steps: before its first ask, while
// that is under way, and before it is told of anything.
func TestReleaseBesideTheFirstAskLong(t *testing.T) {
	const delay = 5 * time.Millisecond
	step := time.Millisecond / 2
	if testing.Short() {
		step *= 5
	}
	for _, others := range []int{0, 1} {
		for at := -2 * delay; at <= 10*delay; at += step {
			t.Run(fmt.Sprintf("%d others/%v", others, at), func(t *testing.T) {
				bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					d, e := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
					for i, m := range fleet.Masters() {
						m.Delay(delay + time.Duration(i)*delay/2)
					}
					hold := lock(t, t.Context(), c, "a")
					var other *waiting
					if others > 0 {
						other = writer(t, e)
					}
					time.Sleep(time.Second)
					go func() {
						time.Sleep(2*delay + at)
						unlock(t, hold)
					}()
					time.Sleep(2 * delay)
					start := time.Now()
					next := writer(t, d)
					if other != nil {
						expectWithin(t, other, start, 300*time.Millisecond)
					}
					expectWithin(t, next, start, 300*time.Millisecond)
					time.Sleep(time.Second)
					expectFree(t, fleet, "a")
				})
			})
		}
	}
}
