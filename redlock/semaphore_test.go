package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// acquire is Acquire of a permit that must be free.
func acquire(t *testing.T, s *redlock.Semaphore) *redlock.Hold {
	t.Helper()
	return got(t, "Acquire", s.Acquire, t.Context())
}

// acquirer waits for a permit of s.
func acquirer(t *testing.T, s *redlock.Semaphore) *waiting {
	t.Helper()
	return waitFor(t, s.Acquire)
}

// A semaphore with the name of a lock is another thing.
func TestSemaphoreIsNoLock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		permit := got(t, "Acquire", c.Semaphore("a", 1).Acquire, hold.Context())
		d := open(t, fleet, redlock.Config{})
		for i, w := range []*waiting{writer(t, d), acquirer(t, d.Semaphore("a", 1))} {
			rest(time.Second)
			expectHolds(t, "beside the first", []*waiting{w})
			if i == 0 {
				unlock(t, hold)
			} else {
				unlock(t, permit)
			}
			rest(10 * time.Millisecond)
			expectHolds(t, "then", []*waiting{w}, 0)
			unlock(t, w.hold)
		}
	})
}

func TestSemaphoreIsChecked(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		for _, s := range []*redlock.Semaphore{
			c.Semaphore("a", 0), c.Semaphore("a", -1), c.Semaphore("a", 1001), c.Semaphore("", 1), c.Semaphore("redlock_slots:a", 1),
		} {
			_, err := s.Acquire(t.Context())
			if err == nil || errors.Is(err, redlock.ErrTaken) || errors.Is(err, redlock.ErrNoQuorum) {
				t.Errorf("Acquire of %q with %d permits = %v, want an error of its own", s.Name(), s.Permits(), err)
			}
			if err := s.Do(t.Context(), func(context.Context) error { return nil }); err == nil {
				t.Errorf("Do of %q with %d permits = nil", s.Name(), s.Permits())
			}
		}
		unlock(t, acquire(t, c.Semaphore("a", 1000)))
	})
}

// Clients that count the permits differently hold no more together than the one with the most says.
func TestClientsMayCountPermitsDifferently(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		few, many := c.Semaphore("gpu", 2), d.Semaphore("gpu", 4)
		var holds []*redlock.Hold
		for _, s := range []*redlock.Semaphore{many, many, many, few, many} {
			hold, err := s.TryAcquire(t.Context())
			if err == nil {
				holds = append(holds, hold)
			} else {
				expect(t, "TryAcquire", err, redlock.ErrTaken)
			}
			synctest.Wait()
		}
		if len(holds) != 4 {
			t.Fatalf("%d permits are held, want 4: the most that anybody counts", len(holds))
		}
		w := acquirer(t, few)
		rest(time.Second)
		// The one who counts two waits for one of the first two slots, and keeps nobody from the others.
		for _, hold := range holds {
			if hold.Slot() >= 2 {
				unlock(t, hold)
				rest(10 * time.Millisecond)
				expectHolds(t, "when a slot is free that it does not know", []*waiting{w})
				again := got(t, "TryAcquire", many.TryAcquire, t.Context())
				unlock(t, again)
			}
		}
		for _, hold := range holds {
			if hold.Slot() < 2 {
				unlock(t, hold)
			}
		}
		rest(10 * time.Millisecond)
		expectHolds(t, "then", []*waiting{w}, 0)
		unlock(t, w.hold)
	})
}

// PermitSlot is the slot of the innermost permit, also under a lock, and there is none elsewhere.
func TestPermitSlot(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		slot := func(ctx context.Context) string { s, ok := redlock.PermitSlot(ctx); return fmt.Sprint(s, ok) }
		want := func(when, got, want string) {
			t.Helper()
			if got != want {
				t.Errorf("PermitSlot %s = %s, want %s", when, got, want)
			}
		}
		want("of no hold", slot(t.Context()), "0 false")
		var outer []*redlock.Hold
		for range 3 {
			outer = append(outer, acquire(t, c.Semaphore("gpu", 4)))
		}
		expect(t, "Do", c.Semaphore("gpu", 4).Do(outer[0].Context(), func(ctx context.Context) error {
			inner := slot(ctx)
			for _, h := range outer {
				if got := fmt.Sprint(h.Slot(), true); slot(h.Context()) != got || got == inner {
					t.Errorf("PermitSlot = %s beside %s, want %s", slot(h.Context()), inner, got)
				}
			}
			return c.Do(ctx, "a", func(ctx context.Context) error {
				want("under a lock", slot(ctx), inner)
				return c.Do(context.WithoutCancel(t.Context()), "b", func(ctx context.Context) error {
					want("of a lock", slot(ctx), "0 false")
					return nil
				})
			})
		}))
		for _, h := range outer {
			unlock(t, h)
		}
	})
}

// A master that answers late with another slot than was won has it back at once: whoever wants that slot could
// not have it there until the first renewal, whatever the other masters say.
func TestPermitsLetGoOfOtherSlots(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		gpu := c.Semaphore("gpu", 4)
		hold := acquire(t, gpu)
		slot := hold.Slot()
		unlock(t, hold)
		synctest.Wait()
		last := fleet.Master(2)
		conn := fleet.Pools()[2].Get()
		words := script.NewPermit("gpu", another, 4, slot).Acquire(time.Minute, 1).Words(nil, true, false)
		_, err := conn.Do(words[0].(string), words[1:]...)
		expect(t, "what another owner asks", err)
		_ = conn.Close()
		last.Delay(5 * time.Millisecond)
		hold = acquire(t, gpu) // it begins with the slot that was given back
		if hold.Slot() != slot {
			t.Fatalf("slot %d, want %d", hold.Slot(), slot)
		}
		slots := func() int { return max(0, len(last.ZSet("redlock_slots:{gpu}"))-1) } // one member is their sum
		rest(6 * time.Millisecond)
		if n := slots(); n != 2 {
			t.Errorf("%d slots are taken at the last master, want the other owner's and one that nobody asked for", n)
		}
		rest(30 * time.Millisecond)
		if n := slots(); n != 1 {
			t.Errorf("%d slots are taken at the last master, want the other owner's", n)
		}
		unlock(t, hold)
	})
}

// A semaphore can be inspected, and one of its permits released by force, by who does not know how many
// there are.
func TestForceReleaseOfOneSlot(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		var holds []*redlock.Hold
		for range 3 {
			holds = append(holds, acquire(t, c.Semaphore("gpu", 3)))
		}
		synctest.Wait()
		operator := open(t, fleet, redlock.Config{}).Semaphore("gpu", 0)
		seen, err := operator.Inspect(t.Context())
		if expect(t, "Inspect", err); len(seen.Slots) != 3 {
			t.Fatalf("Inspect = %+v, want three slots", seen.Slots)
		}
		w := acquirer(t, c.Semaphore("gpu", 3))
		rest(time.Second)
		freed, err := operator.ForceReleaseSlot(t.Context(), holds[1].Slot())
		if expect(t, "ForceReleaseSlot", err); !freed {
			t.Error("ForceReleaseSlot freed nothing")
		}
		rest(10 * time.Millisecond)
		expectHolds(t, "the waiter", []*waiting{w}, 0)
		if w.hold.Slot() != holds[1].Slot() || w.hold.Token() <= holds[1].Token() {
			t.Errorf("slot %d, token %d after slot %d, token %d", w.hold.Slot(), w.hold.Token(), holds[1].Slot(), holds[1].Token())
		}
		rest(lease)
		for i, h := range holds {
			if lost := context.Cause(h.Context()) != nil; lost != (i == 1) {
				t.Errorf("hold %d ended: %v (%v)", i, lost, context.Cause(h.Context()))
			}
		}
		if freed, err := operator.ForceReleaseSlot(t.Context(), 7); freed || err != nil {
			t.Errorf("ForceReleaseSlot of a slot that nobody has = %v, %v", freed, err)
		}
		for _, slot := range []int{-1, 1000} {
			if _, err := operator.ForceReleaseSlot(t.Context(), slot); err == nil {
				t.Errorf("ForceReleaseSlot(%d) = nil", slot)
			}
		}
		unlock(t, holds[0])
		unlock(t, holds[2])
		unlock(t, w.hold)
	})
}

// TryAcquire is not refused while there are permits for all who try.
func TestTryAcquireOfFreePermits(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				const k = 16
				r := rand.New(rand.NewPCG(seed, 0))
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Duration(500+r.IntN(500)) * time.Microsecond) })
				var holds [k]*redlock.Hold
				clients := []*redlock.Client{c}
				for range k - 1 {
					clients = append(clients, open(t, fleet, redlock.Config{}))
				}
				for range 10 {
					var wg sync.WaitGroup
					for i, c := range clients {
						r := rand.New(rand.NewPCG(seed, r.Uint64()))
						wg.Go(func() {
							pause(r, time.Millisecond)
							hold, err := c.Semaphore("gpu", k).TryAcquire(t.Context())
							if expect(t, "TryAcquire", err); err == nil {
								holds[i] = hold
							}
						})
					}
					wg.Wait()
					if t.Failed() {
						return
					}
					for _, h := range holds {
						if h != nil {
							unlock(t, h)
						}
					}
					rest(100 * time.Millisecond)
				}
			})
		})
	}
}

// Permits that are given back at the same time go to those who began to wait first, though they are all of
// one client, and others wait as well.
func TestPermitsFreedAtOnceGoToTheFirst(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const k = 8
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		var held []*redlock.Hold
		for range k {
			held = append(held, acquire(t, c.Semaphore("gpu", k)))
		}
		var all []*waiting
		for _, d := range []*redlock.Client{open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})} {
			for range k {
				all = append(all, acquirer(t, d.Semaphore("gpu", k)))
				rest(200 * time.Millisecond)
			}
		}
		rest(5 * time.Second)
		for _, h := range held {
			go h.Unlock(context.Background())
		}
		rest(2 * time.Second)
		expectHolds(t, "those who began first", all, 0, 1, 2, 3, 4, 5, 6, 7)
		for len(all) > 0 {
			unlock(t, all[0].hold)
			rest(100 * time.Millisecond)
			all = all[1:]
		}
	})
}
