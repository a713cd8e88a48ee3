package multilock

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
)

// name is what this client has to do with one lock: the holds that it has, and the line of its callers that
// wait; or, of a semaphore, the line alone.
type name struct {
	holds []*Hold // in the order in which they were won
	kept  *kept   // nil: it is not kept
	line  line

	why *poll.MajorityError // why the lock was not there when a contender last asked

	blocker string        // the owner that a master named last
	since   clock.Instant // when it was named first
}

// nameLocked returns what this client has to do with key. tidyLocked forgets it.
func (m *Masters) nameLocked(key string) *name {
	n := m.names[key]
	if n != nil {
		return n
	}
	if last := len(m.free) - 1; last >= 0 {
		n, m.free = m.free[last], m.free[:last]
	} else {
		n = new(name)
	}
	m.names[key] = n
	return n
}

// maxFree bounds the names that are kept for reuse, and maxRoom the room in the line of each.
const (
	maxFree = 1024
	maxRoom = 64
)

// tidyLocked forgets a name that nobody holds and nobody waits for.
func (m *Masters) tidyLocked(key string) {
	if n := m.names[key]; n != nil && len(n.holds) == 0 && n.kept == nil && len(n.line.waiters) == 0 {
		delete(m.names, key)
		if len(m.free) < maxFree && cap(n.line.waiters) <= maxRoom {
			*n = name{holds: n.holds, line: n.line} // these are empty: so that it keeps nothing alive
			m.free = append(m.free, n)
		}
	}
}

// adopt makes h one of the client's holds of its name, and wakes the waiters that share its owner:
// they enter it. It returns the hold that was won before it, nil if there is none.
func (m *Masters) adopt(h *Hold) (before *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nameLocked(h.key)
	if last := len(n.holds) - 1; last >= 0 {
		before = n.holds[last]
	}
	n.holds = append(n.holds, h)
	m.held++
	n.line.wake(h.owner)
	return before
}

// forget undoes adopt.
func (m *Masters) forget(h *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[h.key]
	if n == nil {
		return
	}
	if i := slices.Index(n.holds, h); i >= 0 {
		n.holds = slices.Delete(n.holds, i, i+1)
		m.held--
		m.unrenewed.ends(h)
		m.tidyLocked(h.key)
	}
}

// latest returns the hold of key that the client won last, nil if it has none.
func (m *Masters) latest(key string) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[key]
	if n == nil || len(n.holds) == 0 {
		return nil
	}
	return n.holds[len(n.holds)-1]
}

// owned returns the hold that owner has of key, nil if it has none.
func (m *Masters) owned(key string, owner any) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[key]
	if n == nil {
		return nil
	}
	for _, h := range n.holds {
		if h.owner == owner {
			return h
		}
	}
	return nil
}

// Owns reports whether owner has a hold of key, so that a lock of it for owner enters that.
func (m *Masters) Owns(key string, owner any) bool { return m.owned(key, owner) != nil }

// owners are the owners of this client that may have a lock, or may get one: from the first
// command of each until its last release was answered.
type owners struct {
	client string        // its ID, the first part of each owner
	seq    atomic.Uint64 // the second part, never used twice

	mu    sync.Mutex
	known map[string]standing // by owner
}

// standing is what is known of an owner.
type standing struct {
	contest *contest // gets what is handed off to it; nil once that is over
	wanted  bool     // another client wants what it has
	doubted Set      // masters that may have forgotten, since its contest was over, what it has
}

func newOwners(client string) owners {
	return owners{client: client, known: make(map[string]standing)}
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
	o.known[id] = standing{contest: c}
	return id
}

// decided notes that c is over, and its owner may still have a lock. It says nothing of an owner that c did not
// make, as when it enters the hold of that owner again; nor does void.
func (o *owners) decided(owner string, c *contest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.known[owner]; s.contest == c {
		s.contest = nil
		o.known[owner] = s
	}
}

// void notes that c is over, and its owner has nothing at any master.
func (o *owners) void(owner string, c *contest) {
	if made, _ := o.find(owner); made == c {
		o.forget(owner)
	}
}

// forget notes that the release of all that owner had was answered.
func (o *owners) forget(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, owner)
}

// want notes that another client wants what owner has, or may have before it knows.
func (o *owners) want(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, known := o.known[owner]; known {
		s.wanted = true
		o.known[owner] = s
	}
}

// doubt notes that the masters in at may have forgotten what owners of this client have whose contests are over.
func (o *owners) doubt(at Set) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for id, s := range o.known {
		if s.contest == nil {
			s.doubted |= at
			o.known[id] = s
		}
	}
}

// doubted returns the masters that may have forgotten what owner has.
func (o *owners) doubted(owner string) Set {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[owner].doubted
}

// wantedFrom reports whether another client wants what owner has.
func (o *owners) wantedFrom(owner string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[owner].wanted
}

// find returns the contest of owner, nil if it is over, and whether owner may have a lock.
func (o *owners) find(owner string) (c *contest, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s, known := o.known[owner]
	return s.contest, known
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
	for _, s := range o.known {
		if s.contest != nil {
			list = append(list, s.contest)
		}
	}
	return list
}

// releaseStray looks at who has the lock at master i, by an answer. If that is an owner of this
// client that has gone, one of its commands was carried out after all: it is released there.
func (m *Masters) releaseStray(i int, key string, a script.Answer) {
	if a.Outcome != script.Refused || !m.Ours(a.Holder) {
		return
	}
	if _, known := m.owners.find(a.Holder); !known {
		m.Nodes[i].Send(script.ReleaseOfAny(key, a.Holder, 1), poll.Nobody{}, i)
	}
}

// newOwnerLocked makes an owner for the next try of a contest.
func (c *contest) newOwnerLocked() *script.Owner {
	id := c.m.owners.make(c)
	if w := c.m.Witness; w != nil {
		w.Owner(&c.state, id)
	}
	var o *script.Owner
	if c.state.Want.Shared {
		o = script.NewReader(c.key, id)
	} else {
		o = script.NewOwner(c.key, id)
	}
	return o.CountFrom(rand.Uint64N(1 << 52))
}
