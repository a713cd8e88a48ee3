package multilock

import (
	"slices"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// target is what a caller wants: a lock, or a permit of a semaphore. The lock and the semaphore of
// one name have nothing to do with each other.
type target struct {
	key       string
	semaphore bool
}

// name is what this client has to do with one target: the holds that it has, and the line of its
// callers that wait.
type name struct {
	hold   *Hold   // the exclusive one, nil if there is none
	others []*Hold // shared ones, or permits
	line   line

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
	if n := m.names[t]; n != nil && n.hold == nil && len(n.others) == 0 && n.line.first == nil {
		delete(m.names, t)
		if len(m.free) < maxFree {
			*n = name{} // so that it keeps nothing alive
			m.free = append(m.free, n)
		}
	}
}

// adopt makes h one of the client's holds of its name, and wakes the waiters that share its owner:
// they enter it. It returns a hold whose place h takes: one whose validity has ended, since the
// masters granted h, but whose timer has yet to say so.
func (m *Masters) adopt(h *Hold) (ended *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nameLocked(h.target)
	switch {
	case h.claim.Mode != script.Exclusive:
		n.others = append(n.others, h)
		ended = n.hold
	case n.hold == nil:
		n.hold = h
	default:
		ended, n.hold = n.hold, h
		m.held-- // forget will not find it
	}
	m.held++
	n.line.wake(h.owner)
	return ended
}

// forget undoes adopt.
func (m *Masters) forget(h *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[h.target]
	if n == nil {
		return
	}
	if n.hold == h {
		n.hold = nil
	} else if i := slices.Index(n.others, h); i >= 0 {
		n.others = slices.Delete(n.others, i, i+1)
	} else {
		return
	}
	m.held--
	m.tidyLocked(h.target)
}

// holding returns the client's exclusive hold of t, which keeps its other callers from t; nil if it
// has none.
func (m *Masters) holding(t target) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.names[t]; n != nil {
		return n.hold
	}
	return nil
}

// excluded returns a channel that is closed when the client's exclusive hold of t is that no more,
// and the masters have been sent so; nil if it has none.
func (m *Masters) excluded(t target) <-chan struct{} {
	for {
		h := m.holding(t)
		if h == nil {
			return nil
		}
		if over := h.ended(); m.holding(t) == h { // it was not downgraded in between
			return over
		}
	}
}

// owned returns the hold that owner has of t, nil if it has none.
func (m *Masters) owned(t target, owner any) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[t]
	if n == nil {
		return nil
	}
	if n.hold != nil && n.hold.owner == owner {
		return n.hold
	}
	for _, h := range n.others {
		if h.owner == owner {
			return h
		}
	}
	return nil
}

// share notes that h is no longer exclusive.
func (m *Masters) share(h *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.names[h.target]; n != nil && n.hold == h {
		n.hold, n.others = nil, append(n.others, h)
	}
}
