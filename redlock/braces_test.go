package redlock_test

import (
	"context"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Redisson writes the channels of "a" and "{a}" alike. They are two locks all the same: who
// waits for one is not passed the other.
func TestBracesMakeAnotherName(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		plain, braced := lock(t, t.Context(), c, "a"), lock(t, t.Context(), c, "{a}")
		other := open(t, fleet, redlock.Config{})
		waited := make(chan *redlock.Hold, 1)
		go func() {
			hold, err := other.Lock(context.Background(), "{a}")
			expect(t, "Lock of {a}", err)
			waited <- hold
		}()
		time.Sleep(time.Second)
		unlock(t, plain)
		time.Sleep(time.Second)
		select {
		case <-waited:
			t.Fatal("whoever waited for {a} has it beside its holder, since a was unlocked")
		default:
		}
		if braced.Context().Err() != nil {
			t.Fatal("the hold of {a} has ended")
		}
		unlock(t, braced)
		unlock(t, <-waited)
	})
}
