package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// split gives "a" to two other owners on one master each, so that no owner can have a majority
// of three.
func split(fleet *redlocktest.Fleet) {
	for i, m := range fleet.Masters()[:2] {
		m.HSet("a", []string{another, someone}[i], "1")
		m.Expire("a", time.Minute)
	}
}

// TryLock that is cut short returns at once, wherever it is, and says why it was cut short and
// what it had heard.
func TestCutTryLock(t *testing.T) {
	why := errors.New("the customer left")
	for name, tt := range map[string]struct {
		begin func(*redlocktest.Fleet)
		after time.Duration
		state error
	}{
		"while the masters are silent": {
			func(f *redlocktest.Fleet) { each(f, 0, 3, (*redlocktest.Master).Freeze) }, 100 * time.Millisecond, redlock.ErrNoQuorum,
		},
		// The votes are split at once; the pause until the next try is longer than a millisecond.
		"between two tries": {split, time.Millisecond / 2, redlock.ErrTaken},
		// The answers take 20 ms, and so do those to the request to raise the counters.
		"while the masters agree on a token": {func(f *redlocktest.Fleet) {
			for i, m := range f.Masters() {
				m.Set("redlock_fence:{a}", fmt.Sprint(5_000_000_000_000_000+10*i))
				m.Delay(10 * time.Millisecond)
			}
		}, 30 * time.Millisecond, redlock.ErrNoQuorum},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				warm(t, c)
				tt.begin(fleet)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(tt.after, func() { cancel(why) })
				start := time.Now()
				_, err := c.TryLock(ctx, "a")
				if got := time.Since(start); got != tt.after {
					t.Errorf("TryLock returned after %v, want %v: as soon as its context ended", got, tt.after)
				}
				expect(t, "TryLock", err, context.Canceled, why, tt.state)
				each(fleet, 0, 3, (*redlocktest.Master).Thaw)
				each(fleet, 0, 2, func(m *redlocktest.Master) {
					if m.Holder("a") == another || m.Holder("a") == someone {
						m.Del("a")
					}
				})
				time.Sleep(settle)
				expectFree(t, fleet, "a")
			})
		})
	}
}

// A lease that was used up before the masters agreed on a token is no hold.
func TestTryLockWithALateToken(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		apart := func(name string) {
			for i, m := range fleet.Masters() {
				m.Set("redlock_fence:{"+name+"}", fmt.Sprint(5_000_000_000_000_000+10*i))
			}
		}
		apart("warm")
		warm(t, c)
		apart("a")
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(30 * time.Millisecond) })
		const short = 100 * time.Millisecond // a round trip and a raise are 120 ms
		start := time.Now()
		hold, err := c.TryLockFor(t.Context(), "a", short)
		took := time.Since(start)
		if hold != nil {
			t.Fatalf("TryLockFor(%v) = a hold after %v", short, took)
		}
		expect(t, "TryLockFor", err, redlock.ErrNoQuorum)
		expectNot(t, "TryLockFor", err, redlock.ErrTaken, redlock.ErrLost)
		if took < short {
			t.Errorf("TryLockFor returned after %v, before its lease was used up: the token was not late", took)
		}
		time.Sleep(settle)
		expectFree(t, fleet, "a")
	})
}
