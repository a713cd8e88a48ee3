package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// fleets are sets of masters, by ID.
type fleets map[string]*redlocktest.Fleet

// startFleets starts a set of three masters for each ID.
func startFleets(t *testing.T, ids ...string) fleets {
	t.Helper()
	f := make(fleets)
	for _, id := range ids {
		f[id] = redlocktest.Start(t, 3)
	}
	return f
}

// sets makes what one process has of the sets: a client for each.
func (f fleets) sets(t *testing.T, cfg redlock.Config, ids ...string) []redlock.Set {
	t.Helper()
	var sets []redlock.Set
	for _, id := range ids {
		cfg.Pools = f[id].Pools()
		sets = append(sets, redlock.Set{ID: id, Client: open(t, f[id], cfg)})
	}
	return sets
}

// newSets is NewSets, closed with the test.
func newSets(t *testing.T, sets ...redlock.Set) *redlock.Sets {
	t.Helper()
	s, err := redlock.NewSets(sets...)
	if err != nil {
		t.Fatalf("NewSets: %v", err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// at returns the IDs of the sets where a majority of the masters has a holder of name, at rest.
func (f fleets) at(name string) (ids []string) {
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	return f.peek(name)
}

// peek is at while others are at it.
func (f fleets) peek(name string) (ids []string) {
	for id, fleet := range f {
		n := 0
		for _, m := range fleet.Masters() {
			if m.Holder(name) != "" {
				n++
			}
		}
		if n >= 2 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (f fleets) expectAt(t *testing.T, name string, want ...string) {
	t.Helper()
	if got := f.at(name); !slices.Equal(got, want) {
		t.Errorf("%q is held in sets %q, want %q", name, got, want)
	}
}

// names returns names that belong to one set and then to another, when sets change.
func moving(t *testing.T, old, next *redlock.Sets, from, to string) string {
	t.Helper()
	for i := range 1000 {
		if name := fmt.Sprint("name-", i); old.SetOf(name) == from && next.SetOf(name) == to {
			return name
		}
	}
	t.Fatalf("no name moves from %q to %q", from, to)
	return ""
}

// setLock is Lock of a name that must be free.
func setLock(t *testing.T, ctx context.Context, s *redlock.Sets, name string) *redlock.Hold {
	t.Helper()
	hold, err := s.Lock(ctx, name)
	if err != nil {
		t.Fatalf("Lock(%q): %v", name, err)
	}
	t.Cleanup(func() { runtime.KeepAlive(hold) })
	return hold
}

// Each name is in one set, the same in every process and version; sets get about the same number; and
// another set takes names for itself and moves no others.
func TestSetsSpreadNames(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		f := startFleets(t, "a", "b", "c", "d")
		sets := f.sets(t, redlock.Config{}, "a", "b", "c", "d")
		three := newSets(t, sets[:3]...)
		slices.Reverse(sets)
		four := newSets(t, sets...)
		count := map[string]int{}
		const names = 4000
		for i := range names {
			name := fmt.Sprint("orders:", i)
			old, now := three.SetOf(name), four.SetOf(name)
			count[now]++
			if old != now && now != "d" {
				t.Errorf("%q moves from %q to %q, which was there before", name, old, now)
			}
		}
		for id, n := range count {
			if n < names/4*9/10 || n > names/4*11/10 {
				t.Errorf("set %q has %d of %d names, want a quarter", id, n, names)
			}
		}
		// Changing these puts running processes of two versions at odds.
		var got []string
		for _, name := range []string{"orders:42", "orders:43", "invoices:7", "", "ü", strings.Repeat("x", 1000)} {
			got = append(got, four.SetOf(name))
		}
		if want := "[c b a a d a]"; fmt.Sprint(got) != want {
			t.Errorf("SetOf = %v, want %s forever", got, want)
		}
	})
}

// The methods of a Client lock, and look, in the set of the name.
func TestSetsLockInOneSet(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		f := startFleets(t, "a", "b", "c")
		s := newSets(t, f.sets(t, redlock.Config{}, "a", "b", "c")...)
		other := newSets(t, f.sets(t, redlock.Config{}, "c", "a", "b")...)
		expect(t, "Ready", s.Ready(t.Context()))
		for i := range 6 {
			name := fmt.Sprint(i)
			set := s.SetOf(name)
			hold := setLock(t, t.Context(), s, name)
			f.expectAt(t, name, set)
			_, err := other.TryLock(t.Context(), name)
			expect(t, "TryLock", err, redlock.ErrTaken)
			in, err := other.Inspect(t.Context(), name)
			expect(t, "Inspect", err)
			if !in.Held || in.Holder != hold.Owner() || len(in.Masters) != 3 {
				t.Errorf("Inspect = %+v, want it held by %s at 3 masters", in, hold.Owner())
			}
			inner := setLock(t, hold.Context(), s, name)
			if got := hold.Count(); got != 2 {
				t.Errorf("Count = %d, want 2", got)
			}
			unlock(t, inner)
			unlock(t, hold)
			f.expectAt(t, name)

			err = s.Do(t.Context(), name, func(ctx context.Context) error {
				f.expectAt(t, name, set)
				freed, err := other.ForceUnlock(ctx, name)
				expect(t, "ForceUnlock", err)
				if !freed {
					t.Error("ForceUnlock freed nothing")
				}
				return nil
			})
			expect(t, "Do", err, redlock.ErrLost)
			hold, err = s.LockFor(t.Context(), name, 5*time.Second)
			expect(t, "LockFor", err)
			start := time.Now()
			<-hold.Context().Done()
			if got := time.Since(start); got > 5*time.Second || got < 4*time.Second {
				t.Errorf("a hold of 5s ended after %v", got)
			}
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
			time.Sleep(time.Second)
			_, err = s.TryLockFor(t.Context(), name, 0)
			if err == nil || !strings.Contains(err.Error(), "lease 0s is not positive") {
				t.Errorf("TryLockFor of 0 = %v, want it to be refused", err)
			}
		}
		holds, err := s.LockAll(t.Context(), "0", "1", "2", "3", "4", "5")
		expect(t, "LockAll", err)
		for _, name := range holds.Names() {
			f.expectAt(t, name, s.SetOf(name))
		}
		_, err = other.TryLockAll(t.Context(), "9", "3")
		expect(t, "TryLockAll", err, redlock.ErrTaken)
		f.expectAt(t, "9")
		expect(t, "Close", s.Close())
		expect(t, "Cause", context.Cause(holds.Context()), redlock.ErrClosed)
		_, err = s.Lock(t.Context(), "0")
		expect(t, "Lock", err, redlock.ErrClosed)
		expect(t, "Unlock", holds.Unlock(t.Context()), redlock.ErrClosed)
		f.expectAt(t, "0")
	})
}

// What names could not be spread over is refused.
func TestSetsAreChecked(t *testing.T) {
	bubble(t, 1, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		other := open(t, fleet, redlock.Config{})
		good := newSets(t, redlock.Set{ID: "a", Client: c})
		for want, sets := range map[string][]redlock.Set{
			"no set":                {},
			"empty":                 {{Client: c}},
			"zero byte":             {{ID: "a\x00", Client: c}},
			"no Client":             {{ID: "a"}},
			"the same ID":           {{ID: "a", Client: c}, {ID: "a", Client: other}},
			"or the same Client":    {{ID: "a", Client: c}, {ID: "b", Client: c}},
			"another ID or Client":  {{ID: "a", Client: other}},
			"another ID or Client ": {{ID: "b", Client: c}},
		} {
			want = strings.TrimSpace(want)
			if !strings.HasPrefix(want, "another") {
				if _, err := redlock.NewSets(sets...); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("NewSets(%v) = %v, want an error that says %q", sets, err, want)
				}
			}
			if err := good.Change(t.Context(), sets...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Change(%v) = %v, want an error that says %q", sets, err, want)
			}
		}
		expect(t, "Finish without a change", good.Finish(t.Context()))
		if _, err := good.LockAll(t.Context()); err == nil {
			t.Error("LockAll of no names succeeded")
		}
		_, err := good.Lock(t.Context(), "")
		var none *redlock.MajorityError
		if err == nil || errors.As(err, &none) {
			t.Errorf("Lock of an empty name = %v, want it to be refused", err)
		}
	})
}
