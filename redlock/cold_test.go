package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Masters that came back without their scripts: an Unlock that is sent again does not take back the
// re-entry behind it.
func TestColdEnterBehindLeave(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		owner := redlock.WithOwner(t.Context())
		hold := lock(t, owner, c, "a")
		inner := lock(t, owner, c, "a")
		synctest.Wait()
		each(fleet, 0, 3, (*redlocktest.Master).RestartWithData)
		time.Sleep(settle)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(5 * time.Millisecond) })
		go func() { expect(t, "Unlock inner", inner.Unlock(t.Context())) }()
		time.Sleep(time.Millisecond)
		_, err := c.TryLock(owner, "a")
		expect(t, "TryLock", err)
		time.Sleep(time.Second)
		expectCount(t, fleet, hold, "2", 2)
	})
}
