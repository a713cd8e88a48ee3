package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

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

// Who counts fewer permits than there are is not in the way of who counts more, however many do.
func TestThoseWhoCountFewKeepNobodyFromMany(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		held := acquire(t, c.Semaphore("gpu", 1))
		var few []*waiting
		for range 33 {
			few = append(few, acquirer(t, open(t, fleet, redlock.Config{}).Semaphore("gpu", 1)))
			rest(100 * time.Millisecond)
		}
		d := open(t, fleet, redlock.Config{})
		var many []*waiting
		for range 10 { // one of them has to wait
			many = append(many, acquirer(t, d.Semaphore("gpu", 10)))
			rest(100 * time.Millisecond)
		}
		rest(5 * time.Second)
		expectHolds(t, "beside those who count one", many, 0, 1, 2, 3, 4, 5, 6, 7, 8)
		unlock(t, many[3].hold)
		rest(time.Second)
		if !many[9].over {
			t.Error("who waits gets none that another gave back")
		}
		unlock(t, held)
		rest(time.Second)
		expectHolds(t, "when the one that they know of is given back", few, 0)
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

// Errors of a semaphore do not speak of a lock.
func TestErrorsOfPermits(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		s := c.Semaphore("pool", 1)
		hold := acquire(t, s)
		synctest.Wait()
		_, taken := s.TryAcquire(t.Context())
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, waited := s.Acquire(short)
		_, ended := s.Acquire(short)
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		_, down := s.TryAcquire(t.Context())
		_, force := s.ForceRelease(t.Context())
		for call, err := range map[string]error{"acquire": taken, "acquire, waited": waited, "acquire, ended": ended, "acquire, down": down, "force release": force} {
			op, _, _ := strings.Cut(call, ",")
			if err == nil || !strings.HasPrefix(err.Error(), "redlock: "+op+` "pool": `) {
				t.Errorf("%s: %v", call, err)
			}
			if why, ok := errors.AsType[*redlock.MajorityError](err); ok && why.Op != op {
				t.Errorf("%s: Op is %q", call, why.Op)
			}
		}
		each(fleet, 0, 2, (*redlocktest.Master).RestartWithData)
		rest(settle)
		unlock(t, hold)
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
