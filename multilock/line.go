package multilock

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
)

// name is what this client has to do with one lock: the hold that it has, and the line of its
// callers that wait. Only the first of them has a contest, and asks the masters.
type name struct {
	hold        *Hold          // nil if there is none
	first, last *waiter        // in the order of their calls
	contest     *contest       // of the first waiter, nil if it has none
	why         *MajorityError // why the lock was not there when a contender last asked
	outage      outage
}

// waiter is a caller that waits for a lock.
type waiter struct {
	key   string
	lease time.Duration
	owner any           // nil: shared with nobody
	since clock.Instant // when it began to wait
	turn  chan struct{} // closed when it is the first
	enter chan struct{} // told when its owner got the lock by another call

	before, after *waiter
}

func (w *waiter) isFirst() bool {
	select {
	case <-w.turn:
		return true
	default:
		return false
	}
}

// closedChan is always ready to receive.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

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

// maxFree bounds the names that are kept for reuse.
const maxFree = 1024

// tidyLocked forgets a name that nobody holds and nobody waits for.
func (m *Masters) tidyLocked(key string) {
	if n := m.names[key]; n != nil && n.hold == nil && n.first == nil {
		delete(m.names, key)
		if len(m.free) < maxFree {
			*n = name{} // so that it keeps nothing alive
			m.free = append(m.free, n)
		}
	}
}

// adopt makes h the client's hold of its name, and wakes the waiters that share its owner: they
// enter it. It returns the hold that it replaces: one whose validity has ended, since the
// masters granted h, but whose timer has yet to say so.
func (m *Masters) adopt(h *Hold) (ended *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nameLocked(h.key)
	ended, n.hold = n.hold, h
	if ended == nil {
		m.held++
	}
	for w := n.first; w != nil; w = w.after {
		if w.owner != nil && w.owner == h.owner {
			select {
			case w.enter <- struct{}{}:
			default:
			}
		}
	}
	return ended
}

// forget undoes adopt.
func (m *Masters) forget(h *Hold) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.names[h.key]; n != nil && n.hold == h {
		n.hold = nil
		m.held--
		m.tidyLocked(h.key)
	}
}

// holding returns the client's hold of key, nil if it has none.
func (m *Masters) holding(key string) *Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := m.names[key]; n != nil {
		return n.hold
	}
	return nil
}

// join puts a caller at the end of the line for the lock it wants.
func (m *Masters) join(req Request) *waiter {
	w := &waiter{key: req.Key, lease: req.Lease, owner: req.Owner, since: clock.Now(), turn: closedChan}
	if w.owner != nil {
		w.enter = make(chan struct{}, 1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nameLocked(w.key)
	if w.before = n.last; w.before != nil {
		w.turn = make(chan struct{})
		w.before.after = w
	} else {
		n.first = w
	}
	n.last = w
	return w
}

// remove takes w out of the line, and reports whether it was the first. The next one is told that
// it is first now.
func (n *name) remove(w *waiter) (first bool) {
	if w.after != nil {
		w.after.before = w.before
	} else {
		n.last = w.before
	}
	if w.before != nil {
		w.before.after = w.after
		return false
	}
	n.first = w.after
	if n.first != nil {
		close(n.first.turn)
	}
	return true
}

// leave takes a caller out of its line, wherever it stands. A contest that it did not win is given
// up, and the next caller's takes its place.
func (m *Masters) leave(w *waiter) {
	m.mu.Lock()
	n := m.names[w.key]
	var c, next *contest
	if n.remove(w) {
		c, n.contest = n.contest, nil
	}
	if c != nil {
		n.note(c)
		next = m.nextLocked(w.key)
	}
	m.tidyLocked(w.key)
	m.mu.Unlock()
	if c != nil {
		c.giveUp(next)
		m.tries.Done()
	}
}

// next makes the contest of the first waiter for key, which a release of this client is to enter
// into the queue of the masters, so that it stands there when the lock is handed off. It is nil if
// nobody waits, if the first waiter has a contest already, or if the masters could not tell this
// client that they handed the lock off to it.
func (m *Masters) next(key string) *contest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nextLocked(key)
}

func (m *Masters) nextLocked(key string) *contest {
	n := m.names[key]
	if n == nil || n.first == nil || n.contest != nil || !m.canBeTold() {
		return nil
	}
	return m.contestLocked(n)
}

// contestLocked makes the contest of the first waiter of n. It counts as an operation under way. It
// is nil when the client is closed.
func (m *Masters) contestLocked(n *name) *contest {
	if !m.beginLocked() {
		return nil
	}
	w := n.first
	n.contest = m.newContest(w.key, protocol.Want{Lease: w.lease, Wait: true}, w.since)
	return n.contest
}

// contend returns the contest of w, which is the first waiter, and begins one if there is none. It
// is nil when the client is closed.
func (m *Masters) contend(w *waiter) *contest {
	m.mu.Lock()
	n := m.names[w.key]
	if n.contest != nil || m.closed {
		defer m.mu.Unlock()
		return n.contest
	}
	c := m.contestLocked(n)
	m.mu.Unlock()
	c.start()
	return c
}

// won takes away the contest of a waiter that has won it.
func (m *Masters) won(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[w.key]
	n.contest, n.why = nil, nil
}

// note remembers why c was not won.
func (n *name) note(c *contest) {
	if why := c.reason(nil); why != nil {
		n.why = why
	}
}

// reason returns what w waits for, nil if that is a hold of the client. cut is the error that
// ended the wait.
func (m *Masters) reason(w *waiter, cut error) *MajorityError {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[w.key]
	switch {
	case n.hold != nil:
		return nil
	case n.contest == nil:
		return n.why
	}
	n.note(n.contest)
	if n.why == nil {
		return n.contest.reason(cut)
	}
	return n.why
}
