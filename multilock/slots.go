package multilock

import (
	"slices"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// slots says at which slot of a semaphore a caller asks for a permit. It reads no clock and draws no random
// numbers. Each slot is a lock; what is known here are hints, which are checked where the lock is asked for.
//
// Source: docs/how-it-works.md, "Permits".
type slots struct {
	masters int

	answered int
	load     []int       // of each slot: owners and waiters, summed over the masters that answered
	busy     []int       // masters that said that somebody has it, or waits for it
	freed    map[int]Set // masters that said so of a slot since it was last free
}

// see takes in what the masters answered that were asked for the first k slots.
func (s *slots) see(b *poll.Ballot, k int) {
	s.answered, s.load, s.busy = 0, make([]int, k), make([]int, k)
	for i := range b.N {
		a := b.At(i)
		if !b.In.Has(i) || a.Outcome != script.Done {
			continue
		}
		s.answered++
		for _, at := range a.Slots {
			if at.Slot >= k {
				continue
			}
			s.busy[at.Slot]++
			if s.load[at.Slot] += at.Queue; at.Held {
				s.load[at.Slot]++
			}
		}
	}
}

// stand notes that a caller of this client stands at a slot: for its other callers, the slot is no longer free.
func (s *slots) stand(slot int) {
	if slot < len(s.load) {
		s.load[slot] += s.answered
		s.busy[slot] = s.answered
	}
}

// free reports whether a majority of the masters said that nobody has a slot, nor waits for it.
func (s *slots) free(slot int) bool {
	return quorum.Vote(s.masters, s.answered-s.busy[slot], 0) == quorum.Won
}

// settled reports whether more answers change nothing: a slot is free, or none can be, whatever the other masters
// answer.
func (s *slots) settled(others int) bool {
	settled := true
	for slot := range s.busy {
		switch quorum.Vote(s.masters, s.answered-s.busy[slot], s.masters-others-s.answered+s.busy[slot]) {
		case quorum.Won:
			return true
		case quorum.Pending:
			settled = false
		}
	}
	return settled
}

// freeOne returns one of the first k slots that is free, -1 if there is none; stands are the slots at which the caller
// stands already. lot is a random number, so that callers of several clients that look at the same time seldom choose
// the same slot.
func (s *slots) freeOne(k int, lot uint32, stands []int) int {
	return s.pick(k, lot, stands, s.free)
}

// least is freeOne for the slots that the fewest owners hold or wait for.
func (s *slots) least(k int, lot uint32, stands []int) int {
	least := -1
	for slot, load := range s.load[:min(k, len(s.load))] {
		if !slices.Contains(stands, slot) && (least < 0 || load < least) {
			least = load
		}
	}
	return s.pick(k, lot, stands, func(slot int) bool { return s.load[slot] == least })
}

// crowded reports whether a caller that stands at slot should move to another: even with it, fewer would stand there.
func (s *slots) crowded(slot, other int) bool {
	return slot < len(s.load) && s.load[slot] >= s.load[other]+2*s.answered
}

// next returns the slot behind one, in the order of their numbers, at which the caller does not stand; -1 if
// it stands at all k.
func (s *slots) next(k, slot int, stands []int) int {
	for range k {
		if slot = (slot + 1) % k; !slices.Contains(stands, slot) {
			return slot
		}
	}
	return -1
}

// pick returns one of the slots that are wanted, at random.
func (s *slots) pick(k int, lot uint32, stands []int, wanted func(slot int) bool) int {
	var room [32]int
	found := room[:0]
	for slot := range min(k, len(s.load)) {
		if !slices.Contains(stands, slot) && wanted(slot) {
			found = append(found, slot)
		}
	}
	if len(found) == 0 {
		return -1
	}
	return found[uint64(len(found))*uint64(lot)>>32]
}

// follow reports whether a client should follow a hint that a slot is free, if own of all waiters are its callers: of
// the whole fleet, about three do.
func (s *slots) follow(lot uint32, own int) bool {
	all := 0
	for slot := range s.load {
		all += min(s.load[slot]-s.busy[slot], 1<<16) // or what follows overflows
	}
	return uint64(all)*uint64(lot)>>32 < uint64(3*own*s.answered) || all == 0
}

// isFreed notes that master i freed a slot that nobody waits for there, and reports whether a majority has by now, so that
// it is time to ask for the slot.
func (s *slots) isFreed(i, slot int) bool {
	if s.freed == nil {
		s.freed = make(map[int]Set)
	}
	s.freed[slot] |= 1 << i
	if quorum.Vote(s.masters, s.freed[slot].Len(), 0) != quorum.Won {
		return false
	}
	delete(s.freed, slot)
	if slot < len(s.load) {
		s.load[slot], s.busy[slot] = 0, 0
	}
	return true
}
