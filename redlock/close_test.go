package redlock_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Close is bounded, leaves nothing on masters that can be reached, and says which holds
// it could not give back.
func TestCloseDuringAnOutage(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"dead":    (*redlocktest.Master).Kill,
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
	} {
		for _, noticed := range []time.Duration{0, 5 * time.Second} {
			t.Run(fmt.Sprintf("%s/%v", name, noticed), func(t *testing.T) {
				bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					lock(t, t.Context(), c, "a")
					synctest.Wait()
					each(fleet, 0, 3, fault)
					time.Sleep(noticed)
					go func() {
						_, err := c.TryLock(t.Context(), "b") // a try is under way
						expect(t, "TryLock", err, redlock.ErrNoQuorum)
					}()
					go func() {
						_, err := c.Lock(t.Context(), "c")
						expect(t, "Lock", err, redlock.ErrClosed)
					}()
					synctest.Wait()
					start := time.Now()
					expect(t, "Close", c.Close(), redlock.ErrNoQuorum)
					if got := time.Since(start); got > 3*nodeTimeout {
						t.Errorf("Close took %v, want at most %v", got, 3*nodeTimeout)
					}
					synctest.Wait()
					for _, m := range fleet.Masters()[3:] {
						for _, name := range []string{"a", "b", "c"} {
							if got := m.Holder(name); got != "" {
								t.Errorf("%s has %q for %q, want it free", m.Name(), got, name)
							}
						}
					}
				})
			})
		}
	}
}

func TestCloseLeavesPoolsOpen(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		pools := fleet.Pools()
		c := open(t, fleet, redlock.Config{Pools: pools})
		unlock(t, lock(t, t.Context(), c, "a"))
		expect(t, "Close", c.Close())
		for i, pool := range pools {
			conn := pool.Get()
			if _, err := conn.Do("PING"); err != nil {
				t.Errorf("PING by pool %d = %v", i, err)
			}
			conn.Close()
			if got := pool.ActiveCount() - pool.IdleCount(); got != 0 {
				t.Errorf("%d connections of pool %d are in use", got, i)
			}
		}
	})
}
