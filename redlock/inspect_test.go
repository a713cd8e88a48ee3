package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

func inspect(t *testing.T, c *redlock.Client, name string) redlockadmin.Inspection {
	t.Helper()
	return must(redlockadmin.Of(c).Inspect(t.Context(), name))(t, "Inspect")
}

func TestInspectTells(t *testing.T) {
	const never = time.Duration(math.MaxInt64)
	type has struct {
		from, to int // masters
		owner    string
		left     time.Duration // 0: it never expires
	}
	for name, tt := range map[string]struct {
		has    []has
		held   bool
		holder string
		left   time.Duration
	}{
		"free":                {nil, false, "", 0},
		"held":                {[]has{{0, 5, someone, time.Minute}}, true, someone, time.Minute},
		"held by a majority":  {[]has{{0, 3, someone, time.Minute}}, true, someone, time.Minute},
		"held by a minority":  {[]has{{0, 2, someone, time.Minute}}, false, "", 0},
		"split":               {[]has{{0, 2, someone, time.Minute}, {2, 4, another, time.Hour}}, false, "", time.Minute},
		"held without expiry": {[]has{{0, 3, someone, 0}}, true, someone, never},
	} {
		t.Run(name, bubble(5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			for _, h := range tt.has {
				each(fleet, h.from, h.to, func(m *redlocktest.Master) {
					m.HSet("a", h.owner, "3")
					if h.left > 0 {
						m.Expire("a", h.left)
					}
				})
			}
			in := inspect(t, c, "a")
			if in.Name != "a" || in.Held != tt.held || in.Holder != tt.holder || in.Remaining != tt.left {
				t.Errorf("Inspect = %q held=%v holder=%q left=%v, want held=%v holder=%q left=%v",
					in.Name, in.Held, in.Holder, in.Remaining, tt.held, tt.holder, tt.left)
			}
			for i, m := range in.Masters {
				want := fleet.Master(i).Holder("a")
				if m.Holder != want || (want != "") != (m.Count == 3) || (want != "") != (m.Remaining > 0) || m.Err != nil || m.Guard != 0 || m.Token != 0 {
					t.Errorf("Masters[%d] = %+v, want holder %q, and no error, guard or token", i, m, want)
				}
			}
		}))
	}
}

func TestInspectNamesMastersThatSayNothing(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), c, "a")
		synctest.Wait()
		fleet.Master(1).Freeze()
		start := time.Now()
		in := inspect(t, c, "a")
		check.Equal(t, time.Since(start), nodeTimeout, "Inspect took")
		check.That(t, in.Held && in.Masters[1].Err != nil && in.Masters[0].Err == nil, "Inspect = %+v, want it held, and an error of the second master", in)

		// If it is cut short, it returns what it knows.
		ctx := within(t, t.Context(), 10*time.Millisecond)
		fleet.Master(2).Delay(30 * time.Millisecond)
		in, err := redlockadmin.Of(c).Inspect(ctx, "a")
		expect(t, "Inspect", err, redlock.ErrNoQuorum, context.DeadlineExceeded)
		if in.Masters[0].Holder == "" || in.Masters[0].Err != nil || in.Masters[1].Err == nil || in.Masters[2].Err == nil || in.Held {
			t.Errorf("Inspect = %+v, want it not held for sure, and what the first master says", in)
		}
		fleet.Master(2).Delay(0)

		fleet.Master(0).Kill()
		in, err = redlockadmin.Of(c).Inspect(t.Context(), "a")
		expect(t, "Inspect", err, redlock.ErrNoQuorum)
		check.That(t, !in.Held && in.Masters[2].Holder != "", "Inspect = %+v, want it not held for sure, and what the third master says", in)
		expect(t, "Inspect of a semaphore", second(redlockadmin.Of(c).InspectSemaphore(t.Context(), "s")), redlock.ErrNoQuorum)
		expect(t, "Close", c.Close(), redlock.ErrNoQuorum)
		expect(t, "Inspect of a closed client", second(redlockadmin.Of(c).Inspect(t.Context(), "a")), redlock.ErrClosed)
	})(t)
}

// ForceUnlock is not repeated: at a master that was dead, the holder keeps the name. But no renewal brings back what was
// freed.
func TestForceUnlockOfAMajority(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a", redlock.Lease(lease))
		synctest.Wait()
		fleet.Master(1).Kill()
		synctest.Wait()
		check.Equal(t, must(redlockadmin.Of(c).ForceUnlock(t.Context(), "a"))(t, "ForceUnlock"), true, "ForceUnlock")
		fleet.Master(1).RestartWithData()
		time.Sleep(settle)
		for i, want := range []string{"", hold.Owner(), ""} {
			check.Equal(t, fleet.Master(i).Holder("a"), want, "holder at master %d", i)
		}
		fleet.Master(1).Del("a")
		expect(t, "Extend", hold.Extend(t.Context(), lease), redlock.ErrLost)
		expectFree(t, fleet, "a")
	})(t)
}

// TestInspectShowsTheGuard: Inspect shows the guard that the clients which take locks have published, and not that of a
// client which only looks.
func TestInspectShowsTheGuard(t *testing.T) {
	const own, age = 30 * time.Second, 20 * time.Second
	for name, guard := range map[string]time.Duration{"shorter": 6 * time.Second, "longer": 2 * time.Minute, "off": redlock.GuardOff} {
		t.Run(name, bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
			user, _ := joins(t, fleet, redlock.Config{RestartGuard: guard, Lease: 6 * time.Second, MaxLease: 6 * time.Second}, 0, 1, 2)
			lock(t, t.Context(), user, "a")
			fleet.Master(1).Restart()
			time.Sleep(age)
			c := open(t, fleet, redlock.Config{RestartGuard: own, NoRecord: true})
			want := max(0, guard+clock.Drift(guard)+time.Second-age)
			for i, m := range inspect(t, c, "a").Masters {
				check.Equal(t, m.Guard, []time.Duration{0, want, 0}[i], "Guard of %s", m.Master)
			}
		}))
	}
}

// Inspect names the clients that hold, read and wait for a name, and says for how long.
func TestInspectNames(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		api, _ := member(t, fleet, "api", 0, 1, 2)
		billing, _ := member(t, fleet, "billing", 0, 1, 2)
		reports, _ := member(t, fleet, "reports", 0, 1, 2)
		hold := lock(t, t.Context(), api, "a")
		lock(t, t.Context(), api, "r", redlock.Shared(), redlock.Lease(10*time.Second))
		long := lock(t, t.Context(), billing, "r", redlock.Shared())
		permits := []*redlock.Hold{acquire(t, api, "s", 2), acquire(t, billing, "s", 2)}
		locking(t, billing, "a")
		rest(10 * time.Millisecond)
		locking(t, reports, "a", redlock.Shared())
		locking(t, billing, "s", redlock.Permits(1))
		rest(5*time.Second - 10*time.Millisecond)

		whose := func(owner string, i *redlock.ClientInfo) string {
			if i == nil {
				return owner
			}
			check.That(t, strings.HasPrefix(owner, i.ID), "%s is said to be of %s", owner, i.ID)
			return i.Name
		}
		readers := func(list []redlockadmin.Reader) (text string) {
			for _, r := range list {
				text += fmt.Sprintf(", %s reads for %v", whose(r.Owner, r.Client), r.Remaining)
			}
			return text
		}
		queue := func(list []redlockadmin.Waiter) (text string) {
			for _, w := range list {
				text += fmt.Sprintf(", %s waits (shared %v, slot %d)", whose(w.Owner, w.Client), w.Shared, w.Slot)
			}
			return text
		}
		slots := func(list []redlockadmin.Slot) (text string) {
			for _, s := range list {
				text += fmt.Sprintf(", %s has %d for %v with token %d", whose(s.Owner, s.Client), s.Number, s.Remaining, s.Token)
			}
			return text
		}
		expectTold := func(name, all, each string) {
			t.Helper()
			in := inspect(t, c, name)
			told := []string{fmt.Sprintf("%v by %s since %v for %v%s", in.Held, whose(in.Holder, in.Client), in.HeldFor.Round(time.Second), in.Remaining, readers(in.Readers))}
			for _, m := range in.Masters {
				told = append(told, fmt.Sprintf("%s %d for %v with token %d%s%s", m.Holder, m.Count, m.Remaining, m.Token, readers(m.Readers), queue(m.Queue)))
			}
			expectLines(t, "Inspect", told, []string{all, each, each, each})
		}
		expectTold("a", "true by api since 5s for 25s", fmt.Sprintf(
			"%s 1 for 25s with token %d, billing waits (shared false, slot 0), reports waits (shared true, slot 0)", hold.Owner(), hold.Token()))
		const both = ", api reads for 5s, billing reads for 25s"
		expectTold("r", "true by shared since 0s for 25s"+both, fmt.Sprintf("shared 0 for 25s with token %d%s", long.Token(), both))

		in := must(redlockadmin.Of(c).InspectSemaphore(t.Context(), "s"))(t, "Inspect")
		told := []string{in.Name + slots(in.Slots)}
		for _, m := range in.Masters {
			told = append(told, fmt.Sprintf("%s%s%s%v", m.Master, slots(m.Slots), queue(m.Queue), m.Err))
		}
		held := make([]string, 2)
		for i, p := range permits {
			held[p.Slot()] = fmt.Sprintf(", %s has %d for 25s with token %d", []string{"api", "billing"}[i], p.Slot(), p.Token())
		}
		all := held[0] + held[1]
		each := all + ", billing waits (shared false, slot 0)<nil>"
		expectLines(t, "Inspect", told, []string{"s" + all, "pool 0" + each, "pool 1" + each, "pool 2" + each})
	})(t)
}

// TestForceReleaseGoesOn: a slot whose key is another program's keeps no other slot from being freed or told of.
func TestForceReleaseGoesOn(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) {
			for i := range 300 {
				m.HSet(fmt.Sprintf("redlock_slot:{gpu}:%d", i), someone, "1")
			}
			m.Set("redlock_slot:{gpu}:3", "x")
		})
		admin := redlockadmin.Of(c)
		seen, err := admin.InspectSemaphore(t.Context(), "gpu")
		check.That(t, err == nil && len(seen.Slots) == 299, "InspectSemaphore has %d slots, %v; want 299", len(seen.Slots), err)
		freed, err := admin.ForceRelease(t.Context(), "gpu")
		check.That(t, freed && errors.Is(err, redlock.ErrNoQuorum), "ForceRelease = %t, %v; want that it freed some, and an error", freed, err)
		check.Says(t, err, `redlock: force release slot 3 of "gpu": `, "ForceRelease")
		check.Equal(t, strings.Join(fleet.Master(0).Keys(), " "), "redlock_slot:{gpu}:3", "keys at a master")
	})(t)
}
