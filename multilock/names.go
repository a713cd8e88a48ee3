package multilock

import (
	"slices"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
)

// target is what a caller wants: a lock, or a permit of a semaphore. The lock and the semaphore of
// one name have nothing to do with each other.
type target struct {
	key       string
	semaphore bool
}

// op is what a caller does who wants it.
func (t target) op() string {
	if t.semaphore {
		return "acquire"
	}
	return "lock"
}

// name is what this client has to do with one target: the holds that it has, and the line of its
// callers that wait.
type name struct {
	holds []*Hold // in the order in which they were won
	kept  *kept   // nil: it is not kept
	line  line

	why    *MajorityError // why the lock was not there when a contender last asked
	outage outage

	blocker string        // the owner that a master named last
	since   clock.Instant // when it was named first
}

// nameLocked returns what this client has to do with t. tidyLocked forgets it.
func (m *Masters) nameLocked(t target) *name {
	n := m.names[t]
	if n != nil {
		return n
	}
	if last := len(m.free) - 1; last >= 0 {
		n, m.free = m.free[last], m.free[:last]
	} else {
		n = new(name)
	}
	m.names[t] = n
	return n
}

// maxFree bounds the names that are kept for reuse.
const maxFree = 1024

// tidyLocked forgets a name that nobody holds and nobody waits for.
func (m *Masters) tidyLocked(t target) {
	if n := m.names[t]; n != nil && len(n.holds) == 0 && n.kept == nil && n.line.first == nil {
		delete(m.names, t)
		if len(m.free) < maxFree {
			*n = name{holds: n.holds} // so that it keeps nothing alive
			m.free = append(m.free, n)
		}
	}
}

// adopt makes h one of the client's holds of its name, and wakes the waiters that share its owner:
// they enter it. It returns the hold that was won before it, nil if there is none.
func (m *Masters) adopt(h *Hold) (before *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nameLocked(h.target)
	if last := len(n.holds) - 1; last >= 0 {
		before = n.holds[last]
	}
	n.holds = append(n.holds, h)
	m.held++
	n.line.wake(h.owner)
	return before
}

// crossed has the hold of t that is meant renewed at once if master i, too late to be counted, has given it
// another slot than it has won: somebody else may be waiting for that.
func (m *Masters) crossed(t target, i, slot int, means func(*Hold) bool) {
	m.mu.Lock()
	var holds []*Hold
	if n := m.names[t]; n != nil {
		holds = slices.Clone(n.holds)
	}
	m.mu.Unlock()
	for _, h := range holds {
		if means(h) && h.Slot() != slot {
			h.step(protocol.HoldEvent{Kind: protocol.HoldDoubt, At: 1 << i}, nil)
		}
	}
}

// forget undoes adopt.
func (m *Masters) forget(h *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[h.target]
	if n == nil {
		return
	}
	if i := slices.Index(n.holds, h); i >= 0 {
		n.holds = slices.Delete(n.holds, i, i+1)
		m.held--
		m.tidyLocked(h.target)
	}
}

// latest returns the hold of t that the client won last, nil if it has none.
func (m *Masters) latest(t target) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[t]
	if n == nil || len(n.holds) == 0 {
		return nil
	}
	return n.holds[len(n.holds)-1]
}

// owned returns the hold that owner has of t, nil if it has none.
func (m *Masters) owned(t target, owner any) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[t]
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
