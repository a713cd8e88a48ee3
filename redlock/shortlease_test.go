package redlock_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A lock is never passed on for longer than the lease that was asked for: a holder that dies
// then would cost the others more than that, and a master that restarts would not wait for it. Nor
// is it passed on for less than half of that, however long ago the caller last asked for it.
func TestLockIsNotPassedForLongerThanItsLease(t *testing.T) {
	for _, short := range []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 500 * time.Millisecond} {
		for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
			for _, waited := range []time.Duration{10 * time.Millisecond, 5 * time.Second, 5020 * time.Millisecond, 5070 * time.Millisecond, 5230 * time.Millisecond} {
				for _, who := range []string{"another client", "the client itself"} {
					t.Run(fmt.Sprintf("%v/delay=%v/after %v/%s", short, delay, waited, who), func(t *testing.T) {
						bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
							d := open(t, fleet, redlock.Config{})
							warm(t, c)
							warm(t, d)
							each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(delay) })
							if who == "the client itself" {
								d = c
							}
							first := lock(t, t.Context(), c, "a")
							next := make(chan *redlock.Hold, 1)
							go func() {
								hold, err := d.LockFor(t.Context(), "a", short)
								expect(t, "LockFor", err)
								next <- hold
							}()
							time.Sleep(waited)
							go func() { expect(t, "Unlock", first.Unlock(t.Context())) }()
							var passed *redlock.Hold
							for range 2 * (delay + time.Millisecond) / time.Millisecond {
								synctest.Wait()
								for _, m := range fleet.Masters() {
									holder := m.Holder("a")
									if left := m.TTL("a"); holder != "" && holder != first.Owner() && left > short {
										t.Fatalf("%s has %s for %v, want at most the lease that was asked for, %v", m.Name(), holder, left, short)
									}
								}
								time.Sleep(time.Millisecond)
							}
							select {
							case passed = <-next:
							case <-time.After(time.Second):
								t.Fatal("the lock was not passed on")
							}
							// It was passed on a little more than an answer's time ago.
							least := short/2 - short/100 - 2*time.Millisecond - 2*(2*delay+time.Millisecond)
							if left := passed.Remaining(); left > short || left < least {
								t.Errorf("Remaining = %v of a lease of %v, want at least %v", left, short, least)
							}
							_ = passed.Unlock(t.Context()) // it may have ended
							time.Sleep(settle)
							expectFree(t, fleet, "a")
						})
					})
				}
			}
		}
	}
}
