package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// acquireAll acquires n of the permits of "gpu".
func acquireAll(t *testing.T, c *redlock.Client, n, permits int) (holds []*redlock.Hold) {
	t.Helper()
	for range n {
		holds = append(holds, acquire(t, c, "gpu", permits))
	}
	return holds
}

// Clients that count the permits differently hold no more together than the largest count.
func TestClientsMayCountPermitsDifferently(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		holds := acquireAll(t, d, 4, 4)
		expect(t, "TryLock of a client that counts four", second(d.TryLock(t.Context(), "gpu", redlock.Permits(4))), redlock.ErrTaken)
		expect(t, "TryLock of a client that counts two", second(c.TryLock(t.Context(), "gpu", redlock.Permits(2))), redlock.ErrTaken)
		w := locking(t, c, "gpu", redlock.Permits(2))
		rest(time.Second)
		// A waiter that counts two waits for one of the first two slots, and keeps nobody from the others.
		slices.SortFunc(holds, func(a, b *redlock.Hold) int { return b.Slot() - a.Slot() })
		for _, hold := range holds[:2] {
			unlock(t, hold)
			rest(10 * time.Millisecond)
			expectHolds(t, "when a slot is free that it does not know", []*waiting{w})
			acquire(t, d, "gpu", 4)
		}
		for _, hold := range holds[2:] {
			unlock(t, hold)
		}
		rest(10 * time.Millisecond)
		expectHolds(t, "then", []*waiting{w}, 0)
	})(t)
}

// TestInspectSemaphoreTellsOfEachSlot: the queue of a master has the first waiter of each slot, then the second of each.
func TestInspectSemaphoreTellsOfEachSlot(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const permits, waiters = 2, 3
		acquireAll(t, c, permits, permits)
		for range waiters {
			locking(t, open(t, fleet, redlock.Config{}), "gpu", redlock.Permits(permits))
		}
		rest(10 * time.Second)
		in := must(redlockadmin.Of(c).InspectSemaphore(t.Context(), "gpu"))(t, "Inspect")
		for _, m := range in.Masters {
			check.Equal(t, len(m.Queue), permits*waiters, "waiters at %s", m.Master)
			for i, w := range m.Queue {
				check.Equal(t, w.Slot, i%permits, "slot for which number %d waits at %s", i, m.Master)
			}
		}
	})(t)
}

// An operator who does not know the number of permits can inspect a semaphore, and release one permit by force.
func TestForceReleaseOfOneSlot(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		holds := acquireAll(t, c, 3, 3)
		operator := redlockadmin.Of(open(t, fleet, redlock.Config{}))
		rest(5 * time.Second)
		seen, err := operator.InspectSemaphore(t.Context(), "gpu")
		if expect(t, "Inspect", err); len(seen.Slots) != 3 {
			t.Fatalf("Inspect = %+v, want three slots", seen.Slots)
		}
		check.Equal(t, seen.Slots[0].HeldFor.Round(time.Second), 5*time.Second, "HeldFor of a slot")
		w := locking(t, c, "gpu", redlock.Permits(3))
		rest(time.Second)
		for slot, want := range map[int]bool{holds[1].Slot(): true, 7: false} {
			check.Equal(t, must(operator.ForceReleaseSlot(t.Context(), "gpu", slot))(t, "ForceReleaseSlot"), want, "ForceReleaseSlot(%d)", slot)
		}
		rest(10 * time.Millisecond)
		expectHolds(t, "the waiter", []*waiting{w}, 0)
		if w.hold.Slot() != holds[1].Slot() || w.hold.Token() <= holds[1].Token() {
			t.Errorf("slot %d, token %d after slot %d, token %d", w.hold.Slot(), w.hold.Token(), holds[1].Slot(), holds[1].Token())
		}
		rest(lease)
		for i, h := range holds {
			check.Equal(t, context.Cause(h.Context()) != nil, i == 1, "hold %d has ended", i)
		}
		for _, slot := range []int{-1, 1000} {
			check.Says(t, second(operator.ForceReleaseSlot(t.Context(), "gpu", slot)), "slots are 0 to 999", "ForceReleaseSlot")
		}
	})(t)
}

// Permits that are given back at the same time are taken at once, and go to the first waiters but for one or two, though
// these are all of one client. Which of them is overtaken is chance, so two runs are judged together.
func TestPermitsFreedAtOnceGoToTheFirst(t *testing.T) {
	const k = 8
	first := 0
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		for range 2 {
			held := acquireAll(t, c, k, k)
			var all []*waiting
			for _, d := range []*redlock.Client{open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})} {
				for range k {
					all = append(all, locking(t, d, "gpu", redlock.Permits(k)))
					rest(200 * time.Millisecond)
				}
			}
			rest(time.Second)
			for _, h := range held {
				go h.Unlock(context.Background())
			}
			rest(time.Second)
			served := 0
			for i, w := range all {
				if w.over {
					served++
					if i < k {
						first++
					}
				}
			}
			check.That(t, served == k && all[0].over, "%d are served, the first: %v, want all permits taken, and one by the first", served, all[0].over)
			for len(all) > 0 {
				i := slices.IndexFunc(all, func(w *waiting) bool { return w.over })
				unlock(t, all[i].hold)
				all = slices.Delete(all, i, i+1)
				rest(100 * time.Millisecond)
			}
		}
	})(t)
	check.That(t, first > 2*(k-3), "%d of the %d that began to wait first are served first, want all but one or two of each %d", first, 2*k, k)
}

// TryLock finds any free permit, and is refused after one try and one look if none is free.
func TestTryAcquireLooks(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const k = 40
		d := open(t, fleet, redlock.Config{})
		try := func(c *redlock.Client) func(context.Context) (*redlock.Hold, error) {
			return func(ctx context.Context) (*redlock.Hold, error) { return c.TryLock(ctx, "gpu", redlock.Permits(k)) }
		}
		var holds []*redlock.Hold
		for range k {
			holds = append(holds, got(t, "TryLock", try(c), t.Context()))
		}
		refused := func() {
			t.Helper()
			rest(10 * time.Millisecond)
			before := scripts(fleet)
			check.Says(t, second(try(d)(t.Context())), `acquire "gpu": taken by another owner (0 of 3 masters, 2 needed)`, "TryLock of a full one")
			rest(10 * time.Millisecond)
			check.AtMost(t, scripts(fleet)-before, 7, "script calls, a try and a look on each master, and a release where the try was answered last")
		}
		_, _ = try(d)(t.Context()) // the masters get the scripts
		refused()
		for _, hold := range holds[k/2:] {
			unlock(t, hold)
			next := got(t, "TryLock of one of forty", try(d), t.Context())
			check.Equal(t, next.Slot(), hold.Slot(), "the only slot that is free")
		}
		refused()
		// One master has yet to free a slot: TryLock knows that it is free once the other two have answered.
		unlock(t, holds[0])
		rest(10 * time.Millisecond)
		masters := fleet.Masters()
		key := fmt.Sprintf("redlock_slot:{gpu}:%d", holds[0].Slot())
		masters[0].HSet(key, "somebody", "1")
		masters[0].Expire(key, time.Minute)
		masters[2].Delay(time.Millisecond)
		next := got(t, "TryLock beside a master that lags behind", try(d), t.Context())
		check.Equal(t, next.Slot(), holds[0].Slot(), "the slot that two masters have freed")
	})(t)
}

// A release tells waiters at other slots, so that no permit lies free while somebody waits.
func TestPermitGivenBackElsewhereIsFound(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		const k = 16
		held := acquireAll(t, c, k, k)
		d := open(t, fleet, redlock.Config{})
		for range 3 {
			w := locking(t, d, "gpu", redlock.Permits(k))
			rest(50 * time.Millisecond) // it stands at one slot, and listens
			in := must(redlockadmin.Of(c).InspectSemaphore(t.Context(), "gpu"))(t, "Inspect")
			other := slices.IndexFunc(held, func(h *redlock.Hold) bool { return h.Slot() != in.Masters[0].Queue[0].Slot })
			start := time.Now()
			unlock(t, held[other])
			<-w.done
			check.AtMost(t, time.Since(start), 8*time.Millisecond, "a permit that was given back elsewhere was found after")
			held[other] = w.hold
		}
	})(t)
}

// Whichever slots are held for long, nobody overtakes a waiter for more than 1.2 s at up to four slots, and at more slots
// for longer than it takes to go through them.
func TestNobodyOvertakesForLong(t *testing.T) {
	for k, most := range map[int]time.Duration{2: 1200 * time.Millisecond, 4: 1200 * time.Millisecond, 12: 12 * 400 * time.Millisecond} {
		t.Run(fmt.Sprint(k), bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			acquireAll(t, c, k-1, k) // for ever
			// Others take turns at the last slot.
			ctx, stop := context.WithCancel(t.Context())
			var others sync.WaitGroup
			defer others.Wait()
			defer stop()
			for range 6 {
				d := open(t, fleet, redlock.Config{})
				others.Go(func() {
					for {
						hold, err := d.Lock(ctx, "gpu", redlock.Permits(k))
						if err != nil {
							return
						}
						time.Sleep(20 * time.Millisecond)
						_ = hold.Unlock(context.Background())
					}
				})
			}
			rest(3 * time.Second)
			last := open(t, fleet, redlock.Config{})
			for range 10 {
				start := time.Now()
				hold := acquire(t, last, "gpu", k)
				check.AtMost(t, time.Since(start), most+time.Second, "served after")
				unlock(t, hold)
			}
		}))
	}
}

// A holder that dies tells nobody: waiters at other slots find its permit by looking.
func TestPermitOfTheDeadIsFound(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const k = 8
		acquireAll(t, c, k-1, k)
		dies := lock(t, t.Context(), c, "gpu", redlock.Permits(k), redlock.Lease(2*time.Second))
		w := locking(t, open(t, fleet, redlock.Config{}), "gpu", redlock.Permits(k))
		rest(2600 * time.Millisecond)
		expectHolds(t, "after the lease of the dead", []*waiting{w}, 0)
		check.Equal(t, w.hold.Slot(), dies.Slot(), "slot")
	})(t)
}

// TestAnErrorIsOfItsOwnCaller: the error of a caller that waited for a permit does not match the context of another one.
func TestAnErrorIsOfItsOwnCaller(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, other *redlock.Client) {
		busy := acquire(t, other, "a", 1)
		c, theirs := open(t, fleet, redlock.Config{}), errors.New("the first one's")
		var all sync.WaitGroup
		wait := func(ctx context.Context, wants, not []error) {
			all.Go(func() {
				_, err := c.Lock(ctx, "a", redlock.Permits(1))
				expect(t, "Lock", err, append(wants, redlock.ErrTaken)...)
				for _, other := range not {
					expectNot(t, "Lock", err, other)
				}
			})
			time.Sleep(time.Millisecond)
		}
		first, cancel := context.WithTimeoutCause(t.Context(), time.Second, theirs)
		defer cancel()
		wait(first, []error{context.DeadlineExceeded, theirs}, nil)
		for i := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(3-i)*time.Second, cancel)
			wait(ctx, []error{context.Canceled}, []error{context.DeadlineExceeded, theirs})
		}
		all.Wait()
		unlock(t, busy)
	})(t)
}
