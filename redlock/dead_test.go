package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A master that was dead all along got nothing, so nothing is owed to it when it comes back:
// neither for holds that were renewed, nor for locks that were handed over, nor for callers that
// gave up or never got the lock.
func TestDeadMasterIsOwedNothing(t *testing.T) {
	bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		warm(t, c)
		warm(t, d)
		for _, pair := range [][2]*redlock.Client{{c, d}, {d, c}} { // subscriptions work
			hold := lock(t, t.Context(), pair[0], "warm too")
			next := await(t, pair[1], "warm too")
			unlock(t, hold)
			unlock(t, <-next)
		}
		synctest.Wait()
		dead := fleet.Master(4)
		dead.Kill()
		time.Sleep(settle)

		hold := lock(t, t.Context(), c, "a")
		next := await(t, d, "a") // in the masters' queue
		time.Sleep(time.Millisecond)
		local := await(t, c, "a") // in the client's own
		time.Sleep(2 * renewEvery)
		unlock(t, hold)
		hold = <-next
		time.Sleep(2 * renewEvery)
		unlock(t, hold)
		hold = <-local
		if _, err := d.TryLock(t.Context(), "a"); err == nil {
			t.Error("TryLock takes a lock that is held")
		}
		time.Sleep(2 * renewEvery)
		unlock(t, hold)
		synctest.Wait()

		dead.RestartWithData()
		before := dead.Calls("EVALSHA")
		time.Sleep(settle)
		if n := dead.Calls("EVALSHA") - before; n != 0 {
			t.Errorf("the dead master was owed %d script calls, want none", n)
		}
	})
}
