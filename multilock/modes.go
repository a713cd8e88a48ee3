package multilock

import (
	"math/rand/v2"
	"sync/atomic"

	"example.com/redlock/node/script"
)

// newOwnerLocked makes an owner for the next try of a contest.
func (c *contest) newOwnerLocked() *script.Owner {
	id := c.m.owners.make(c)
	var o *script.Owner
	switch want := &c.state.Want; {
	case want.Permits > 0:
		o = script.NewPermit(c.key, id, want.Permits, c.state.Start)
	case want.Shared:
		o = script.NewReader(c.key, id)
	default:
		o = script.NewOwner(c.key, id)
	}
	return o.CountFrom(rand.Uint64N(1 << 52))
}

// winnerLocked returns the owner as it has won: a permit has its slot.
func (c *contest) winnerLocked() *script.Owner {
	if c.owner.Mode == script.Permit {
		return c.owner.InSlot(c.state.Slot)
	}
	return c.owner
}

// slots is the slot at which the client's next try for a permit begins, of whatever semaphore: the
// one that it gave back last, which should be free, and at first any. Tries at the same time begin
// at different ones.
type slots struct{ next atomic.Uint32 }

// start returns the slot at which to begin, of so many.
func (s *slots) start(permits int) int { return int((s.next.Add(1) - 1) % uint32(permits)) }

// freed notes that the client gave a slot back.
func (s *slots) freed(slot int) { s.next.Store(uint32(slot)) }
