package redlock_test

import (
	"context"
	"math"
	"slices"
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
		expect(t, "Close", c.Close(), redlock.ErrNoQuorum)
		_, err = c.Inspect(t.Context(), "a")
		expect(t, "Inspect of a closed client", err, redlock.ErrClosed)
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

// Inspect tells who reads, until when, and who waits for what.
func TestInspectOfReaders(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		short := got(t, "RLockFor", func(ctx context.Context) (*redlock.Hold, error) { return c.RLockFor(ctx, "a", 10*time.Second) }, t.Context())
		long := rlock(t, t.Context(), d, "a")
		synctest.Wait() // it returns with the majority
		w := writer(t, c)
		rest(10 * time.Millisecond)
		r := reader(t, d)
		rest(time.Second - 10*time.Millisecond)
		in := inspect(t, d, "a")
		want := []redlock.Reader{{Owner: short.Owner(), Left: 9 * time.Second}, {Owner: long.Owner(), Left: lease - time.Second}}
		for i, id := range []string{c.ID(), d.ID()} {
			if who := in.Readers[i].Client; who == nil || who.ID != id {
				t.Errorf("reader %d: client %v, want %s", i, who, id)
			}
		}
		nameless := func(list []redlock.Reader) []redlock.Reader {
			for i := range list {
				list[i].Client = nil
			}
			return list
		}
		if !in.Held || in.Holder != "shared" || in.Left != lease-time.Second || !slices.Equal(nameless(in.Readers), want) {
			t.Errorf("Inspect = %+v, want shared by %v for %v", in, want, lease-time.Second)
		}
		for _, m := range in.Masters {
			if m.Holder != "shared" || m.Count != 0 || m.Left != lease-time.Second || m.Token != long.Token() || !slices.Equal(nameless(m.Readers), want) {
				t.Errorf("%+v, want shared by %v", m, want)
			}
			if len(m.Queue) != 2 || m.Queue[0].Shared || !m.Queue[1].Shared {
				t.Errorf("Queue = %v, want a writer and a reader", m.Queue)
			}
		}
		for _, hold := range []*redlock.Hold{short, long} {
			unlock(t, hold)
		}
		rest(10 * time.Millisecond)
		synctest.Wait()
		if in := inspect(t, d, "a"); in.Holder != w.hold.Owner() || len(in.Readers) > 0 || len(in.Masters[0].Readers) > 0 {
			t.Errorf("Inspect = %+v, want %s", in, w.hold.Owner())
		}
		unlock(t, w.hold)
		rest(10 * time.Millisecond)
		synctest.Wait()
		unlock(t, r.hold)
	})
}

// Inspect tells who has which slot of a semaphore, and who waits for how many permits.
func TestInspectOfPermits(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		s := c.Semaphore("gpu", 2)
		holds := []*redlock.Hold{acquire(t, s), acquire(t, d.Semaphore("gpu", 2))}
		synctest.Wait()
		w := acquirer(t, d.Semaphore("gpu", 1))
		rest(time.Second)
		look := func() redlock.SemaphoreInspection {
			in, err := s.Inspect(t.Context())
			expect(t, "Inspect", err)
			for _, list := range append([][]redlock.Slot{in.Slots}, in.Masters[0].Slots, in.Masters[1].Slots, in.Masters[2].Slots) {
				for i := range list {
					list[i].Client = nil // see TestInspectNames
				}
			}
			return in
		}
		in := look()
		if in.Name != "gpu" || len(in.Slots) != 2 || len(in.Masters) != 3 {
			t.Fatalf("Inspect = %+v, want two slots and three masters", in)
		}
		for _, hold := range holds {
			want := redlock.Slot{Slot: hold.Slot(), Owner: hold.Owner(), Left: lease - time.Second, Token: hold.Token()}
			if got := in.Slots[hold.Slot()]; got != want {
				t.Errorf("slot %d: %+v, want %+v", hold.Slot(), got, want)
			}
			for _, m := range in.Masters {
				if len(m.Slots) != 2 || m.Slots[hold.Slot()] != want || len(m.Queue) != 1 || m.Queue[0].Permits != 1 || m.Err != nil || m.Master == "" {
					t.Errorf("%+v, want %+v and one who counts one permit in the queue", m, want)
				}
			}
		}
		w.cancel()
		rest(10 * time.Millisecond)
		for _, hold := range holds {
			unlock(t, hold)
		}
		if got := look(); len(got.Slots) > 0 || len(got.Masters[0].Slots) > 0 {
			t.Errorf("Inspect after Unlock = %+v, want no slot", got)
		}
		fleet.Master(0).Kill()
		fleet.Master(1).Kill()
		expect(t, "Inspect in an outage", second(s.Inspect(t.Context())), redlock.ErrNoQuorum)
	})
}
