package multilock

import (
	"math"
	"slices"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
)

// seen makes what a client knows of k slots, of as many masters as there are answers, of which each has how many own
// a slot or wait for it.
func seen(masters, k int, answers ...map[int]int) *slots {
	b := &poll.Ballot{N: masters, Answers: make([]script.Answer, masters)}
	for i, taken := range answers {
		a := script.Answer{Outcome: script.Done}
		for slot, load := range taken {
			a.Slots = append(a.Slots, script.Slot{Slot: slot, Held: true, Queue: load - 1})
		}
		b.Put(i, a)
	}
	return known(b, k)
}

// TestSlots: where a caller goes, by what the masters say.
func TestSlots(t *testing.T) {
	lots := []uint32{0, math.MaxUint32 / 3, math.MaxUint32 / 2, math.MaxUint32}
	all := func(pick func(lot uint32) int) (got []int) {
		for _, lot := range lots {
			got = append(got, pick(lot))
		}
		slices.Sort(got)
		return slices.Compact(got)
	}
	held := map[int]int{0: 1, 1: 2, 2: 1, 3: 1}
	two := seen(3, 4, held, map[int]int{0: 1, 1: 2, 3: 2}) // one says that 2 is free
	five := seen(3, 5, held, held)
	for _, tt := range []struct {
		what string
		got  []int
		want []int
	}{
		{"free, where a majority says so", all(func(lot uint32) int { return five.freeOne(5, lot, nil) }), []int{4}},
		{"free, of fewer", all(func(lot uint32) int { return five.freeOne(4, lot, nil) }), []int{-1}},
		{"free, where the caller stands", all(func(lot uint32) int { return five.freeOne(5, lot, []int{4}) }), []int{-1}},
		{"free, by a minority", all(func(lot uint32) int { return two.freeOne(4, lot, nil) }), []int{-1}},
		{"the shortest queue", all(func(lot uint32) int { return two.least(4, lot, nil) }), []int{2}},
		{"any of the shortest", all(func(lot uint32) int { return five.least(4, lot, nil) }), []int{0, 2, 3}},
		{"another than those of the caller", all(func(lot uint32) int { return five.least(4, lot, []int{0, 2, 3}) }), []int{1}},
		{"nobody has said anything", all(func(lot uint32) int { return (&slots{masters: 3}).freeOne(4, lot, nil) }), []int{-1}},
		{"nobody has said where", all(func(lot uint32) int { return (&slots{masters: 3}).least(4, lot, nil) }), []int{-1}},
		{"next", []int{five.next(4, 3, []int{3, 0})}, []int{1}},
		{"next, of all", []int{five.next(2, 1, []int{1, 0})}, []int{-1}},
	} {
		check.That(t, slices.Equal(tt.got, tt.want), "%s: %d, want %d", tt.what, tt.got, tt.want)
	}
	for _, tt := range []struct {
		what   string
		s      *slots
		others int
		want   bool
	}{
		{"one is free", five, 0, true},
		{"one is free, whatever others say", seen(3, 2, map[int]int{0: 1}, map[int]int{0: 1}), 1, true},
		{"none can be", seen(3, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1, 1: 1}), 1, true},
		{"one may be, by the third", seen(3, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1}), 1, false},
		{"the third gave no answer", seen(3, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1}), 0, true},
	} {
		check.Equal(t, tt.s.settled(tt.others), tt.want, "settled, %s", tt.what)
	}
	check.That(t, five.crowded(1, 4) && !five.crowded(0, 2), "a slot is crowded where another has two fewer, and not where it has as many")
	five.stand(4)
	check.Equal(t, five.freeOne(5, 0, nil), -1, "free for others of the client, one of which has gone to the slot")
}

// TestSlotIsFreed: it is time to ask for a slot when a majority has freed it, once, and then it is free.
func TestSlotIsFreed(t *testing.T) {
	s := seen(5, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1, 1: 1}, map[int]int{0: 1, 1: 1})
	for i, want := range []bool{false, false, true, false, false} {
		check.Equal(t, s.isFreed(i, 1), want, "free after master %d", i)
	}
	check.Equal(t, s.freeOne(2, 0, nil), 1, "free")
	for n, i := range []int{0, 0, 1, 4} { // the first says it twice
		check.Equal(t, s.isFreed(i, 7), n == 3, "a slot at which nobody looked is free after %d messages", n+1)
	}
}

// TestCallersBeginAtDifferentSlots: also where the client gave a slot back twice, which a look had found for it in between.
func TestCallersBeginAtDifferentSlots(t *testing.T) {
	s := nextSlot{other: 4}
	for _, slot := range []int{3, 2, 3} {
		s.freed(&driver{key: script.SlotKey("k", slot)})
	}
	for _, want := range []int{3, 2, 5} {
		check.Equal(t, s.start("k", 8), want, "begins at slot")
	}
}

// TestSomeFollow: of those who wait, three or so follow a hint, whosever clients they are of; all of few do.
func TestSomeFollow(t *testing.T) {
	for waiters, want := range map[int]int{0: 1000, 2: 1000, 3: 1000, 30: 100, 300: 10} {
		s := seen(3, 1, map[int]int{0: 1 + waiters}, map[int]int{0: 1 + waiters})
		follow := 0
		for i := range uint64(1000) {
			if s.follow(uint32(i*math.MaxUint32/999), 1) {
				follow++
			}
		}
		check.That(t, follow >= want*9/10 && follow <= want*11/10+1, "of a thousand of %d waiters %d follow, want some %d", waiters, follow, want)
	}
}
