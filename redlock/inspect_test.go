package redlock_test

import (
	"context"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func inspect(t *testing.T, c *redlock.Client, name string) redlock.Inspection {
	t.Helper()
	in, err := c.Inspect(t.Context(), name)
	if err != nil {
		t.Fatalf("Inspect(%q): %v", name, err)
	}
	return in
}

func TestInspectTells(t *testing.T) {
	const never = time.Duration(math.MaxInt64)
	foreign := func(m *redlocktest.Master, owner string, left time.Duration) {
		m.HSet("a", owner, "3")
		if left > 0 {
			m.Expire("a", left)
		}
	}
	for name, tt := range map[string]struct {
		begin  func(*redlocktest.Fleet)
		held   bool
		holder string
		left   time.Duration
	}{
		"free": {func(*redlocktest.Fleet) {}, false, "", 0},
		"held": {func(f *redlocktest.Fleet) {
			each(f, 0, 5, func(m *redlocktest.Master) { foreign(m, someone, time.Minute) })
		}, true, someone, time.Minute},
		"held by a majority": {func(f *redlocktest.Fleet) {
			each(f, 0, 3, func(m *redlocktest.Master) { foreign(m, someone, time.Minute) })
		}, true, someone, time.Minute},
		"held by a minority": {func(f *redlocktest.Fleet) {
			each(f, 0, 2, func(m *redlocktest.Master) { foreign(m, someone, time.Minute) })
		}, false, "", 0},
		"split": {func(f *redlocktest.Fleet) {
			each(f, 0, 2, func(m *redlocktest.Master) { foreign(m, someone, time.Minute) })
			each(f, 2, 4, func(m *redlocktest.Master) { foreign(m, another, time.Hour) })
		}, false, "", time.Minute},
		"held without expiry": {func(f *redlocktest.Fleet) {
			each(f, 0, 3, func(m *redlocktest.Master) { foreign(m, someone, 0) })
		}, true, someone, never},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				tt.begin(fleet)
				in := inspect(t, c, "a")
				if in.Name != "a" || in.Held != tt.held || in.Holder != tt.holder || in.Left != tt.left {
					t.Errorf("Inspect = %q held=%v holder=%q left=%v, want held=%v holder=%q left=%v",
						in.Name, in.Held, in.Holder, in.Left, tt.held, tt.holder, tt.left)
				}
				for i, m := range in.Masters {
					want := fleet.Master(i).Holder("a")
					if m.Holder != want || (want != "") != (m.Count == 3) || (want != "") != (m.Left > 0) {
						t.Errorf("Masters[%d] = %+v, want holder %q", i, m, want)
					}
					if m.Err != nil || m.Guard != 0 || m.Token != 0 {
						t.Errorf("Masters[%d] = %+v, want no error, guard or token", i, m)
					}
				}
			})
		})
	}
}

func TestInspectOfAHold(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		outer := lock(t, t.Context(), c, "a")
		hold := lock(t, outer.Context(), c, "a")
		time.Sleep(time.Second)
		in := inspect(t, open(t, fleet, redlock.Config{}), "a")
		if !in.Held || in.Holder != hold.Owner() || in.Left != lease-time.Second {
			t.Errorf("Inspect = held=%v holder=%q left=%v, want true %q %v", in.Held, in.Holder, in.Left, hold.Owner(), lease-time.Second)
		}
		for i, m := range in.Masters {
			want := redlock.MasterState{
				Master: m.Master, Holder: hold.Owner(), Count: 2, Left: lease - time.Second, Token: hold.Token(),
			}
			if !reflect.DeepEqual(m, want) || m.Master == "" {
				t.Errorf("Masters[%d] = %+v, want %+v", i, m, want)
			}
		}
		expectCount(t, fleet, hold, "2", 2) // it took nothing
		if got := hold.Remaining(); got != validity-time.Second {
			t.Errorf("Remaining = %v, want %v", got, validity-time.Second)
		}
	})
}

func TestInspectNamesMastersThatSayNothing(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), c, "a")
		synctest.Wait()
		fleet.Master(1).Freeze()
		start := time.Now()
		in := inspect(t, c, "a")
		if got := time.Since(start); got != nodeTimeout {
			t.Errorf("Inspect took %v, want %v", got, nodeTimeout)
		}
		if !in.Held || in.Masters[1].Err == nil || in.Masters[0].Err != nil {
			t.Errorf("Inspect = %+v, want it held, and an error of the second master", in)
		}

		fleet.Master(0).Kill()
		in, err := c.Inspect(t.Context(), "a")
		expect(t, "Inspect", err, redlock.ErrNoQuorum)
		if in.Held || in.Masters[2].Holder == "" {
			t.Errorf("Inspect = %+v, want it not held for sure, and what the third master says", in)
		}
	})
}

func TestInspectUnderADeadline(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 2, (*redlocktest.Master).Freeze)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := c.Inspect(ctx, "a")
		expect(t, "Inspect", err, redlock.ErrNoQuorum, context.DeadlineExceeded)
		_, err = c.ForceUnlock(ctx, "a")
		expect(t, "ForceUnlock", err, redlock.ErrNoQuorum, context.DeadlineExceeded)
	})
}

func TestInspectShowsTheGuard(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		c := open(t, fleet, redlock.Config{RestartGuard: time.Minute})
		fleet.Master(1).Restart()
		time.Sleep(10 * time.Second)
		in := inspect(t, c, "a")
		for i, m := range in.Masters {
			if guarded := i == 1; (m.Guard > 0) != guarded || m.Guard > time.Minute {
				t.Errorf("Masters[%d].Guard = %v, want one only of the master that restarted", i, m.Guard)
			}
		}
		lock(t, t.Context(), c, "a")
		synctest.Wait()
		if got := fleet.Master(1).Holder("a"); got != "" {
			t.Errorf("the guarded master has granted to %q", got)
		}
		time.Sleep(time.Minute)
		if got := inspect(t, c, "a").Masters[1].Guard; got != 0 {
			t.Errorf("Guard = %v after a minute, want 0", got)
		}
	})
}

func TestForceUnlock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		hold := lock(t, t.Context(), c, "a")
		synctest.Wait() // it has all masters: an acquire that comes after ForceUnlock takes effect
		for _, want := range []bool{true, false} {
			freed, err := d.ForceUnlock(t.Context(), "a")
			if freed != want || err != nil {
				t.Errorf("ForceUnlock = %v, %v, want %v", freed, err, want)
			}
			synctest.Wait()
			expectFree(t, fleet, "a")
		}
		unlock(t, lock(t, t.Context(), d, "a"))
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
	})
}

// A master whose key is no lock keeps it.
func TestForceUnlockOfAForeignValue(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 2, func(m *redlocktest.Master) { m.Set("a", "no lock") })
		freed, err := c.ForceUnlock(t.Context(), "a")
		if freed {
			t.Error("ForceUnlock = true, want false")
		}
		expect(t, "ForceUnlock", err, redlock.ErrNoQuorum)
		if got := fleet.Master(0).Get("a"); got != "no lock" {
			t.Errorf("the foreign value is %q now", got)
		}
	})
}

func TestForceUnlockWithoutAQuorum(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), c, "a")
		synctest.Wait()
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		freed, err := c.ForceUnlock(t.Context(), "a")
		expect(t, "ForceUnlock", err, redlock.ErrNoQuorum)
		if !freed {
			t.Error("ForceUnlock = false, though one master had a holder")
		}
	})
}
