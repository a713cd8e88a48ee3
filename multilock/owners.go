package multilock

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"example.com/redlock/node/script"
)

// owners are the owners of this client that may have a lock, or may get one: from the first
// command of each until its last release was answered.
type owners struct {
	client string        // uuid: the first part of each owner
	seq    atomic.Uint64 // the second part, never used twice

	mu     sync.Mutex
	known  map[string]*contest // by owner, whose contest gets what is handed off to it; nil once that is over
	wanted map[string]bool     // those of whom another client wants what they have
}

func newOwners() owners {
	return owners{client: uuid.NewString(), known: make(map[string]*contest), wanted: make(map[string]bool)}
}

// make returns the id of an owner, "uuid:rN", that was never used before: a late roll-back of an
// earlier try must not free a later one. What is handed off to it goes to c.
func (o *owners) make(c *contest) string {
	var room [64]byte
	mark := ":r"
	if c != nil && c.state.Want.Keep {
		mark = ":k"
	}
	id := string(strconv.AppendUint(append(append(room[:0], o.client...), mark...), o.seq.Add(1), 10))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[id] = c
	return id
}

// decided notes that the contest of owner is over. It may still have a lock.
func (o *owners) decided(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[owner] = nil
}

// forget notes that the release of all that owner had was answered.
func (o *owners) forget(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, owner)
	delete(o.wanted, owner)
}

// want notes that another client wants what owner has, or may have before it knows.
func (o *owners) want(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.known[owner]; known {
		o.wanted[owner] = true
	}
}

// wantedFrom reports whether another client wants what owner has.
func (o *owners) wantedFrom(owner string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wanted[owner]
}

// find returns the contest of owner, nil if it is over, and whether owner may have a lock.
func (o *owners) find(owner string) (c *contest, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, known = o.known[owner]
	return c, known
}

// any reports whether any owner may have a lock, or may get one.
func (o *owners) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.known) > 0
}

// contests returns those under way.
func (o *owners) contests() []*contest {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]*contest, 0, len(o.known))
	for _, c := range o.known {
		if c != nil {
			list = append(list, c)
		}
	}
	return list
}

// ours reports whether owner is one of this client.
func (o *owners) ours(owner string) bool {
	number, ok := strings.CutPrefix(owner, o.client)
	return ok && strings.HasPrefix(number, ":")
}

// foreign reports whether owner is one of Redisson's, whose clients cannot hand a lock off.
func foreign(owner string) bool {
	return clientOf(owner) == ""
}

// releaseStray looks at who has the lock at master i, by an answer. If that is an owner of this
// client that has gone, one of its commands was carried out after all: it is released there.
func (m *Masters) releaseStray(i int, key string, a script.Answer) {
	if a.Outcome != script.Refused || !m.owners.ours(a.Holder) {
		return
	}
	if _, known := m.owners.find(a.Holder); !known {
		m.nodes[i].Send(script.ReleaseOfAny(key, a.Holder, 1), nobody{}, i)
	}
}

// newOwnerLocked makes an owner for the next try of a contest.
func (c *contest) newOwnerLocked() *script.Owner {
	id := c.m.owners.make(c)
	if w := c.m.witness; w != nil {
		w.Owner(&c.state, id)
	}
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

// slots is where the client's next try for a permit begins, of whatever semaphore: at the slot that it
// gave back last, which should be free, and at first at any. Tries at the same time begin at different
// slots.
type slots struct{ next atomic.Uint32 }

// start returns the slot at which to begin, of so many.
func (s *slots) start(permits int) int { return int((s.next.Add(1) - 1) % uint32(permits)) }

// freed notes that the client gave a slot back.
func (s *slots) freed(slot int) { s.next.Store(uint32(slot)) }
