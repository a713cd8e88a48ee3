package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Holds with other leases that are due at about the same time are renewed apart: each to the lease
// that was asked for. A fixed lease that was passed on falls due beside the watchdog's own holds.
func TestEachHoldIsRenewedToItsOwnLease(t *testing.T) {
	const fixed = 10 * time.Second
	for name, offset := range map[string]time.Duration{
		"just before":      -time.Millisecond,
		"at the same time": 0,
		"just after":       time.Millisecond,
		"long after":       100 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				d := open(t, fleet, redlock.Config{})
				first := lock(t, t.Context(), d, "a")
				synctest.Wait()
				begin := time.Now()
				watched := lock(t, t.Context(), c, "watched") // due after renewEvery
				next := make(chan *redlock.Hold, 1)
				go func() {
					hold, err := c.LockFor(t.Context(), "a", fixed)
					expect(t, "LockFor", err)
					next <- hold
				}()
				const topUp = 20 * time.Millisecond
				time.Sleep(time.Until(begin.Add(renewEvery - topUp + offset)))
				unlock(t, first)
				hold := <-next
				start := time.Now()
				for range 300 {
					time.Sleep(time.Millisecond)
					synctest.Wait()
					if got := hold.Remaining(); got > fixed {
						t.Fatalf("Remaining = %v %v after LockFor(%v)", got, time.Since(start), fixed)
					}
					for _, m := range fleet.Masters() {
						if got := m.TTL("a"); got > fixed {
							t.Fatalf("%s has it for %v, %v after LockFor(%v)", m.Name(), got, time.Since(start), fixed)
						}
					}
				}
				if got := watched.Remaining(); got < validity-time.Second {
					t.Errorf("Remaining of the watchdog's hold = %v after its renewal, want about %v", got, validity)
				}
				<-hold.Context().Done()
				// The masters may have a moment's rest before the renewal.
				if got, want := time.Since(start), topUp+fixed-fixed/100-2*time.Millisecond; got < want || got > want+5*time.Millisecond {
					t.Errorf("LockFor(%v) ended after %v, want %v", fixed, got, want)
				}
				expectAlive(t, watched)
			})
		})
	}
}
