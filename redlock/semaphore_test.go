package redlock_test

import (
	"context"
	"slices"
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

// Clients that count the permits differently hold no more together than the one with the most says.
func TestClientsMayCountPermitsDifferently(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		few, many := c.Semaphore("gpu", 2), d.Semaphore("gpu", 4)
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
		operator := open(t, fleet, redlock.Config{}).Semaphore("gpu", 0)
		seen, err := operator.Inspect(t.Context())
		if expect(t, "Inspect", err); len(seen.Slots) != 3 {
			t.Fatalf("Inspect = %+v, want three slots", seen.Slots)
		}
		w := acquirer(t, c.Semaphore("gpu", 3))
		rest(time.Second)
		for slot, want := range map[int]bool{holds[1].Slot(): true, 7: false} {
			freed, err := operator.ForceReleaseSlot(t.Context(), slot)
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
			expectSays(t, "ForceReleaseSlot", second(operator.ForceReleaseSlot(t.Context(), slot)), "slots are 0 to 999")
		}
	})
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
