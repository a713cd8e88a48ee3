package multilock

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
)

// name is what this client has to do with one lock: the holds that it has, and the line of its callers that
// wait; or, of a semaphore, the line, and what is known of its slots.
type name struct {
	holds     []*Hold // in the order in which they were won
	kept      *driver // of the lock that is kept, nil if none is
	line      line
	semaphore *semaphore // nil if no caller waits for a permit, or has waited lately

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
	if n := m.names[key]; n != nil && len(n.holds) == 0 && n.kept == nil && len(n.line.waiters) == 0 && n.semaphore == nil {
		delete(m.names, key)
		if len(m.free) < maxFree && cap(n.line.waiters) <= maxRoom {
			*n = name{holds: n.holds, line: n.line} // these are empty: so that it keeps nothing alive
			m.free = append(m.free, n)
		}
	}
}

// adoptLocked makes h one of the client's holds of its name, and wakes the waiters that share its owner:
// they enter it.
func (m *Masters) adoptLocked(h *Hold) {
	n := m.nameLocked(h.d.key)
	n.holds = append(n.holds, h)
	m.held++
	for _, w := range n.line.waiters {
		if w.req.Owner == h.holder {
			poke(w.enter)
		}
	}
}

// checkBefore ends the hold of its name that was won before h if its validity is over, and its timer has yet to say so.
func (m *Masters) checkBefore(h *Hold) {
	var before *Hold
	m.mu.Lock()
	if n := m.names[h.d.key]; n != nil {
		if i := slices.Index(n.holds, h); i > 0 {
			before = n.holds[i-1]
		}
	}
	m.mu.Unlock()
	if before != nil {
		_ = before.Check()
	}
}

// forget undoes adoptLocked.
func (m *Masters) forget(h *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[h.d.key]
	if n == nil {
		return
	}
	if i := slices.Index(n.holds, h); i >= 0 {
		n.holds = slices.Delete(n.holds, i, i+1)
		m.held--
		m.unrenewed.note(h, nil)
		m.tidyLocked(h.d.key)
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
		if h.holder == owner {
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
	client string                 // its ID, the first part of each owner
	seq    atomic.Uint64          // the second part, never used twice
	strays [poll.Max]atomic.Int32 // releases under way at each master, see releaseStray

	mu    sync.Mutex
	known map[string]*driver // by owner
}

// make returns the id of an owner, "uuid:rN", that was never used before: a late roll-back of an
// earlier try must not free a later one. Of a client that keeps locks it is "uuid:kN".
func (o *owners) make(d *driver, keeps bool) string {
	var room [64]byte
	mark := ":r"
	if keeps {
		mark = ":k"
	}
	id := string(strconv.AppendUint(append(append(room[:0], o.client...), mark...), o.seq.Add(1), 10))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.known[id] = d
	return id
}

// forget notes that owner has nothing at any master.
func (o *owners) forget(owner string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, owner)
}

// find returns the driver of owner, nil if that has nothing at any master.
func (o *owners) find(owner string) *driver {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.known[owner]
}

// any reports whether any owner may have a lock, or may get one.
func (o *owners) any() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.known) > 0
}

// all returns the drivers of all owners.
func (o *owners) all() []*driver {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.known))
}

// mostStrays bounds how many of these releases are under way at a master: whoever may publish there can invent any number
// of owners.
const mostStrays = 64

// releaseStray releases what master i says owner has of key, if owner is one of this client that it has given up: one of
// its commands was carried out after all, or the lock was handed off to it. Where many are under way, or the master is
// down, nothing is sent: the client will meet the owner again, or the hand-off ends by itself.
func (m *Masters) releaseStray(i int, key, owner string) {
	n, strays := m.All.Nodes[i], &m.owners.strays[i]
	if !m.All.Ours(owner) || m.owners.find(owner) != nil || n.Down() || strays.Load() >= mostStrays {
		return
	}
	strays.Add(1)
	n.Send(script.ReleaseOfAny(key, owner), poll.Receiver(func(int, script.Answer) { strays.Add(-1) }))
}
