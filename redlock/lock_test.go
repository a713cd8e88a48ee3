package redlock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestOneHolderAtATime(t *testing.T) {
	for n := 1; n <= 5; n++ {
		t.Run(fmt.Sprintf("N=%d", n), func(t *testing.T) {
			bubble(t, n, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				d := open(t, fleet, redlock.Config{})
				hold := lock(t, t.Context(), c, "a")
				for _, other := range []*redlock.Client{c, d} {
					_, err := other.TryLock(t.Context(), "a")
					expect(t, "TryLock", err, redlock.ErrTaken)
					expectNot(t, "TryLock", err, redlock.ErrNoQuorum)
				}
				unlock(t, lock(t, t.Context(), d, "b")) // another name is free

				unlock(t, hold)
				expectFree(t, fleet, "a")
				hold, err := d.TryLock(t.Context(), "a")
				expect(t, "TryLock after Unlock", err)
				unlock(t, hold)
			})
		})
	}
}

// A lock is granted with as many masters dead as leave a majority, and not with one more.
func TestMajorityDecides(t *testing.T) {
	for n := 1; n <= 7; n++ {
		t.Run(fmt.Sprintf("N=%d", n), func(t *testing.T) {
			bubble(t, n, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				dead := n - (n/2 + 1)
				each(fleet, 0, dead, (*redlocktest.Master).Kill)
				hold, err := c.TryLock(t.Context(), "a")
				expect(t, fmt.Sprintf("TryLock with %d of %d dead", dead, n), err)
				unlock(t, hold)

				fleet.Master(dead).Kill()
				_, err = c.TryLock(t.Context(), "a")
				expect(t, fmt.Sprintf("TryLock with %d of %d dead", dead+1, n), err, redlock.ErrNoQuorum)
				expectNot(t, "TryLock", err, redlock.ErrTaken)
			})
		})
	}
}

// A master that was frozen or cut off costs a caller nothing, however long it lasts.
func TestMinorityCostsNoTime(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
		"dead":    (*redlocktest.Master).Kill,
		"slow":    func(m *redlocktest.Master) { m.Delay(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				warm(t, c)
				each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
				each(fleet, 0, 2, fault)
				for range 20 {
					start := time.Now()
					unlock(t, lock(t, t.Context(), c, "a"))
					if got := time.Since(start); got != 4*time.Millisecond {
						t.Errorf("Lock and Unlock took %v, want two round trips of 2ms", got)
					}
					time.Sleep(100 * time.Millisecond)
				}
			})
		})
	}
}

func TestMajorityErrorNamesEachMaster(t *testing.T) {
	bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		use(t, c)
		fleet.Master(0).Kill()
		fleet.Master(2).Set("a", "no lock")
		fleet.Master(3).HSet("a", someone, "1")
		fleet.Master(3).Expire("a", time.Minute+5*time.Second)
		time.Sleep(5 * time.Second) // the client has noticed
		fleet.Master(1).Freeze()

		_, err := c.TryLock(t.Context(), "a")
		var majority *redlock.MajorityError
		if !errors.As(err, &majority) {
			t.Fatalf("TryLock = %v, want a MajorityError", err)
		}
		if majority.Name != "a" || majority.Op != "lock" || majority.Got != 1 || majority.Need != 3 {
			t.Errorf("MajorityError = %s %q %d of %d, want lock \"a\" 1 of 3", majority.Op, majority.Name, majority.Got, majority.Need)
		}
		want := []string{
			"pool 0: dial memory m1: connection refused",
			"pool 1: no answer in time",
			"pool 2: the key is no lock: it holds a string",
			"pool 3: held by " + someone + " for another 1m0s",
		}
		if len(majority.Nodes.Errors) != len(want) {
			t.Fatalf("Nodes = %v, want one for each master that did not say yes", majority.Nodes)
		}
		for i, err := range majority.Nodes.Errors {
			if !strings.HasPrefix(err.Error(), want[i]) {
				t.Errorf("Nodes[%d] = %q, want %q", i, err, want[i])
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("TryLock = %q, want one line", err)
		}
		if got := fleet.Master(2).Get("a"); got != "no lock" {
			t.Errorf("the foreign value is %q now", got)
		}
	})
}

func TestLockWaitsForAnother(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		hold := lock(t, t.Context(), c, "a")
		start := time.Now()
		time.AfterFunc(5*time.Second, func() { unlock(t, hold) })
		lock(t, t.Context(), d, "a")
		if got := time.Since(start) - 5*time.Second; got < 0 || got > 80*time.Millisecond {
			t.Errorf("Lock noticed the Unlock after %v, want within 80ms", got)
		}
	})
}

// A holder that dies frees nothing, so its lease must end; then the waiting caller has it.
func TestLockWaitsForTheLeaseOfTheDead(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		for i := range 10 {
			lease := 500*time.Millisecond + time.Duration(i)*17*time.Millisecond
			each(fleet, 0, 3, func(m *redlocktest.Master) {
				m.HSet("a", another, "1")
				m.Expire("a", lease)
			})
			start := time.Now()
			unlock(t, lock(t, t.Context(), c, "a"))
			if got := time.Since(start) - lease; got < 0 || got > 10*time.Millisecond {
				t.Errorf("Lock noticed the end of the lease after %v, want within 10ms", got)
			}
			synctest.Wait()
		}
	})
}

func TestLockWaitsThroughAnOutage(t *testing.T) {
	for name, fault := range map[string]struct{ begin, end func(*redlocktest.Master) }{
		"dead":    {(*redlocktest.Master).Kill, (*redlocktest.Master).Restart},
		"frozen":  {(*redlocktest.Master).Freeze, (*redlocktest.Master).Thaw},
		"cut off": {(*redlocktest.Master).Cut, (*redlocktest.Master).Mend},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				each(fleet, 0, 3, fault.begin)
				time.AfterFunc(20*time.Second, func() { each(fleet, 0, 3, fault.end) })
				start := time.Now()
				unlock(t, lock(t, t.Context(), c, "a"))
				if got := time.Since(start) - 20*time.Second; got < 0 || got > settle {
					t.Errorf("Lock noticed the end of the outage after %v, want within %v", got, settle)
				}
				time.Sleep(settle)
				expectFree(t, fleet, "a")
			})
		})
	}
}

func TestFixedLeaseIsNotRenewed(t *testing.T) {
	for name, lockFor := range map[string]func(*testing.T, *redlock.Client) (*redlock.Hold, error){
		"LockFor": func(t *testing.T, c *redlock.Client) (*redlock.Hold, error) {
			return c.LockFor(t.Context(), "a", 10*time.Second)
		},
		"TryLockFor": func(t *testing.T, c *redlock.Client) (*redlock.Hold, error) {
			return c.TryLockFor(t.Context(), "a", 10*time.Second+999*time.Microsecond) // rounded down
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				start := time.Now()
				hold, err := lockFor(t, c)
				expect(t, name, err)
				expectEnd(t, hold, start, 10*time.Second-102*time.Millisecond, redlock.ErrLost)
				expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
				synctest.Wait()
				expectFree(t, fleet, "a")
				expectQuiet(t, fleet)
			})
		})
	}
}

// A grant that took the whole lease to arrive is none, and is taken back.
func TestGrantThatComesTooLate(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		c := open(t, fleet, redlock.Config{Lease: 100 * time.Millisecond, NodeTimeout: 99 * time.Millisecond})
		warm(t, c)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(49 * time.Millisecond) }) // validity is 97ms
		_, err := c.TryLock(t.Context(), "a")
		expect(t, "TryLock", err, redlock.ErrNoQuorum)
		time.Sleep(50 * time.Millisecond) // of the 100ms that the masters grant
		expectFree(t, fleet, "a")
	})
}

// Leases are spans on the masters' clocks: what time it is there does not matter.
func TestMastersWithAnotherTime(t *testing.T) {
	for _, skew := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Skew(skew) })
				d := open(t, fleet, redlock.Config{})
				hold := lockFor(t, t.Context(), c, "a", lease)
				for hold.Context().Err() == nil {
					_, err := d.TryLock(t.Context(), "a")
					expect(t, "TryLock", err, redlock.ErrTaken)
					time.Sleep(time.Second)
				}
				lock(t, t.Context(), d, "a")
			})
		})
	}
}
