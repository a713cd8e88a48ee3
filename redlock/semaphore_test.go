package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// acquire is Acquire of a permit that must be free.
func acquire(t *testing.T, s semaphoreOf) *redlock.Hold {
	t.Helper()
	return got(t, "Acquire", s.Acquire, t.Context())
}

// acquirer waits for a permit of s.
func acquirer(t *testing.T, s semaphoreOf) *waiting {
	t.Helper()
	return waitFor(t, s.Acquire)
}

// Clients that count the permits differently hold no more together than the one with the most says.
func TestClientsMayCountPermitsDifferently(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		few, many := permitsOf(c, "gpu", 2), permitsOf(d, "gpu", 4)
		var holds []*redlock.Hold
		for range 4 {
			holds = append(holds, acquire(t, many))
		}
		expect(t, "TryAcquire of who counts four", second(many.TryAcquire(t.Context())), redlock.ErrTaken)
		expect(t, "TryAcquire of who counts two", second(few.TryAcquire(t.Context())), redlock.ErrTaken)
		w := acquirer(t, few)
		rest(time.Second)
		// The one who counts two waits for one of the first two slots, and keeps nobody from the others.
		slices.SortFunc(holds, func(a, b *redlock.Hold) int { return b.Slot() - a.Slot() })
		for _, hold := range holds[:2] {
			unlock(t, hold)
			rest(10 * time.Millisecond)
			expectHolds(t, "when a slot is free that it does not know", []*waiting{w})
			acquire(t, many)
		}
		for _, hold := range holds[2:] {
			unlock(t, hold)
		}
		rest(10 * time.Millisecond)
		expectHolds(t, "then", []*waiting{w}, 0)
	})
}

// A semaphore can be inspected, and one of its permits released by force, by who does not know how many
// there are.
func TestForceReleaseOfOneSlot(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		var holds []*redlock.Hold
		for range 3 {
			holds = append(holds, acquire(t, permitsOf(c, "gpu", 3)))
		}
		operator := permitsOf(open(t, fleet, redlock.Config{}), "gpu", 0)
		seen, err := operator.Inspect(t.Context())
		if expect(t, "Inspect", err); len(seen.Slots) != 3 {
			t.Fatalf("Inspect = %+v, want three slots", seen.Slots)
		}
		w := acquirer(t, permitsOf(c, "gpu", 3))
		rest(time.Second)
		for slot, want := range map[int]bool{holds[1].Slot(): true, 7: false} {
			freed, err := operator.ForceReleaseSlot(t.Context(), "gpu", slot)
			if expect(t, "ForceReleaseSlot", err); freed != want {
				t.Errorf("ForceReleaseSlot(%d) = %v, want %v", slot, freed, want)
			}
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
		for _, slot := range []int{-1, 1000} {
			expectSays(t, "ForceReleaseSlot", second(operator.ForceReleaseSlot(t.Context(), "gpu", slot)), "slots are 0 to 999")
		}
	})
}

// Permits that are given back at the same time are taken at once, and go to those who began to wait first but for
// one or two, though they are all of one client, and others wait as well. Which of them is overtaken is chance, so that
// two times are judged together.
func TestPermitsFreedAtOnceGoToTheFirst(t *testing.T) {
	const k = 8
	first := 0
	once := func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		var held []*redlock.Hold
		for range k {
			held = append(held, acquire(t, permitsOf(c, "gpu", k)))
		}
		var all []*waiting
		for _, d := range []*redlock.Client{open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})} {
			for range k {
				all = append(all, acquirer(t, permitsOf(d, "gpu", k)))
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
		if served != k || !all[0].over {
			t.Errorf("%d are served, the first: %v, want all permits taken, and one by the first", served, all[0].over)
		}
		for left := len(all); left > 0; {
			i := slices.IndexFunc(all, func(w *waiting) bool { return w.over })
			unlock(t, all[i].hold)
			all = slices.Delete(all, i, i+1)
			left--
			rest(100 * time.Millisecond)
		}
	}
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		once(t, fleet, c)
		once(t, fleet, c)
	})
	if first <= 2*(k-3) {
		t.Errorf("%d of the %d who began to wait first are served first, want all but one or two of each %d", first, 2*k, k)
	}
}

// A permit costs what a lock costs, where the slot is free that the client gave back last.
func TestPermitCostsWhatALockDoes(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		gpu := permitsOf(c, "gpu", 8)
		for range 3 {
			warm(t, c)
			before := scripts(fleet)
			unlock(t, acquire(t, gpu))
			synctest.Wait()
			if calls := scripts(fleet) - before; calls != 6 {
				t.Errorf("%d script calls for a permit, want an acquire and a release on each master", calls)
			}
		}
	})
}

// TryAcquire finds a permit that is free, whichever it is, and is refused after one try and one look if none is.
func TestTryAcquireLooks(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const k = 40
		d := permitsOf(open(t, fleet, redlock.Config{}), "gpu", k)
		var holds []*redlock.Hold
		for range k {
			holds = append(holds, got(t, "TryAcquire", permitsOf(c, "gpu", k).TryAcquire, t.Context()))
		}
		refused := func() {
			t.Helper()
			rest(10 * time.Millisecond)
			before := scripts(fleet)
			expectSays(t, "TryAcquire of a full one", second(d.TryAcquire(t.Context())), `acquire "gpu": taken by another owner (0 of 3 masters, 2 needed)`)
			rest(10 * time.Millisecond)
			if calls := scripts(fleet) - before; calls > 7 {
				t.Errorf("%d script calls, want a try and a look on each master, and a release where the try was answered last", calls)
			}
		}
		_, _ = d.TryAcquire(t.Context()) // the masters get the scripts
		refused()
		for _, hold := range holds[k/2:] {
			unlock(t, hold)
			if next := got(t, "TryAcquire of one of forty", d.TryAcquire, t.Context()); next.Slot() != hold.Slot() {
				t.Errorf("slot %d, want %d, the only one that is free", next.Slot(), hold.Slot())
			}
		}
		refused()
		// Whether a slot is free that one master has not freed yet is not known before all have answered.
		unlock(t, holds[0])
		rest(10 * time.Millisecond)
		masters := fleet.Masters()
		key := fmt.Sprintf("redlock_slot:{gpu}:%d", holds[0].Slot())
		masters[0].HSet(key, "somebody", "1")
		masters[0].Expire(key, time.Minute)
		masters[2].Delay(time.Millisecond)
		if next := got(t, "TryAcquire beside a master that lags behind", d.TryAcquire, t.Context()); next.Slot() != holds[0].Slot() {
			t.Errorf("slot %d, want %d, which two masters have freed", next.Slot(), holds[0].Slot())
		}
	})
}

// No permit lies free while somebody waits for one, at whichever slot: a release tells those who stand elsewhere.
func TestPermitGivenBackElsewhereIsFound(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		const k = 16
		var held []*redlock.Hold
		for range k {
			held = append(held, acquire(t, permitsOf(c, "gpu", k)))
		}
		d := open(t, fleet, redlock.Config{})
		for range 3 {
			w := acquirer(t, permitsOf(d, "gpu", k))
			rest(50 * time.Millisecond) // it stands at one slot, and listens
			in, err := permitsOf(c, "gpu", k).Inspect(t.Context())
			expect(t, "Inspect", err)
			other := slices.IndexFunc(held, func(h *redlock.Hold) bool { return h.Slot() != in.Masters[0].Queue[0].Slot })
			start := time.Now()
			unlock(t, held[other])
			<-w.done
			if took := time.Since(start); took > 8*time.Millisecond {
				t.Errorf("a permit that was given back elsewhere was found after %v", took)
			}
			held[other] = w.hold
		}
	})
}

// Whichever slot is held for long, who has waited for 1.2 s is overtaken by nobody at four slots, and at more
// slots by nobody for longer than it takes to go through them.
func TestNobodyOvertakesForLong(t *testing.T) {
	for k, most := range map[int]time.Duration{2: 1200 * time.Millisecond, 4: 1200 * time.Millisecond, 12: 12 * 400 * time.Millisecond} {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				for range k - 1 {
					acquire(t, permitsOf(c, "gpu", k)) // for ever
				}
				// In the last slot others come and go.
				ctx, stop := context.WithCancel(t.Context())
				var others sync.WaitGroup
				defer others.Wait()
				defer stop()
				for range 6 {
					d := permitsOf(open(t, fleet, redlock.Config{}), "gpu", k)
					others.Go(func() {
						for {
							hold, err := d.Acquire(ctx)
							if err != nil {
								return
							}
							time.Sleep(20 * time.Millisecond)
							_ = hold.Unlock(context.Background())
						}
					})
				}
				rest(3 * time.Second)
				last := permitsOf(open(t, fleet, redlock.Config{}), "gpu", k)
				for range 10 {
					start := time.Now()
					hold := acquire(t, last)
					if took := time.Since(start); took > most+time.Second {
						t.Errorf("served after %v", took)
					}
					unlock(t, hold)
				}
			})
		})
	}
}

// A holder that dies tells nobody: those who wait at other slots find its permit by looking.
func TestPermitOfTheDeadIsFound(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const k = 8
		for range k - 1 {
			acquire(t, permitsOf(c, "gpu", k))
		}
		dies := got(t, "Lock", func(ctx context.Context) (*redlock.Hold, error) {
			return c.Lock(ctx, "gpu", redlock.Permits(k), redlock.Lease(2*time.Second))
		}, t.Context())
		w := acquirer(t, permitsOf(open(t, fleet, redlock.Config{}), "gpu", k))
		rest(2600 * time.Millisecond)
		expectHolds(t, "after the lease of the dead", []*waiting{w}, 0)
		if w.hold.Slot() != dies.Slot() {
			t.Errorf("slot %d, want %d", w.hold.Slot(), dies.Slot())
		}
	})
}

// TestAnErrorIsOfItsOwnCaller: of a caller that waits for a permit, the error does not match that of another caller whose
// context ended before.
func TestAnErrorIsOfItsOwnCaller(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, other *redlock.Client) {
		busy := acquire(t, permitsOf(other, "a", 1))
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
	})
}
