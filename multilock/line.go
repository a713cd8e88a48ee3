package multilock

import (
	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
)

// line is the callers of a client that wait for one name, in the order of their calls. Those in
// front bid, each with a contest of its own: a writer alone, readers together with those next to
// them, and a few of those who want a permit.
type line struct {
	first, last *waiter
	next        *waiter // the first that does not bid, nil if all do
	bids        int     // how many bid
}

// maxBids is how many of a client's callers bid for the permits of one semaphore at a time. Each
// asks the masters now and then; one alone would get one permit in a round trip, however many are
// free.
const maxBids = 4

// waiter is a caller that waits for a lock.
type waiter struct {
	target
	want    protocol.Want
	owner   any           // nil: shared with nobody
	since   clock.Instant // when it began to wait
	turn    chan struct{} // closed when it bids
	enter   chan struct{} // told when its owner got the lock by another call
	contest *contest      // nil if it has none yet. Masters.mu guards it
	trace   *callTrace    // of the call, nil: it is not traced

	before, after *waiter
}

// bids reports whether it is one of those that bid.
func (w *waiter) bids() bool {
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

// append puts w at the end.
func (l *line) append(w *waiter) {
	if w.before = l.last; w.before != nil {
		w.before.after = w
	} else {
		l.first = w
	}
	l.last = w
	switch {
	case l.next != nil:
		w.turn = make(chan struct{})
	case l.mayBid(w):
		w.turn = closedChan
		l.bids++
	default:
		w.turn = make(chan struct{})
		l.next = w
	}
}

// remove takes w out, wherever it stands. Others may bid then, and are told.
func (l *line) remove(w *waiter) {
	if w.bids() {
		l.bids--
	} else if l.next == w {
		l.next = w.after
	}
	if w.after != nil {
		w.after.before = w.before
	} else {
		l.last = w.before
	}
	if w.before != nil {
		w.before.after = w.after
	} else {
		l.first = w.after
	}
	for l.next != nil && l.mayBid(l.next) {
		close(l.next.turn)
		l.next = l.next.after
		l.bids++
	}
}

// mayBid reports whether w may bid, before whom all do.
func (l *line) mayBid(w *waiter) bool {
	switch {
	case w.before == nil:
		return true
	case w.want.Permits > 0:
		return l.bids < min(w.want.Permits, maxBids)
	}
	return w.want.Shared && w.before.want.Shared
}

// wake wakes the waiters of owner, which has got the lock: they enter its hold.
func (l *line) wake(owner any) {
	for w := l.first; w != nil; w = w.after {
		if w.owner != nil && w.owner == owner {
			select {
			case w.enter <- struct{}{}:
			default:
			}
		}
	}
}

// join puts a caller at the end of the line for what it wants.
func (m *Masters) join(req Request) *waiter {
	w := &waiter{target: req.target(), want: req.want(), owner: req.Owner, since: clock.Now(), trace: req.trace}
	if w.owner != nil {
		w.enter = make(chan struct{}, 1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nameLocked(w.target).line.append(w)
	m.waits++
	return w
}

// leave takes a caller out of its line. A contest that it did not win is given up, and the next
// caller's takes its place.
func (m *Masters) leave(w *waiter) {
	m.mu.Lock()
	n := m.names[w.target]
	n.line.remove(w)
	m.waits--
	c := w.contest
	var next *contest
	if c != nil {
		w.contest = nil
		n.note(c)
		next = m.nextLocked(w.target)
	}
	m.tidyLocked(w.target)
	m.mu.Unlock()
	if c != nil {
		c.giveUp(next)
		m.tries.Done()
	}
}

// next makes the contest of the first that bids for t and has none yet. A release of this client is
// to enter it into the queue of the masters, so that it stands there when the lock is handed off.
// It is nil if there is none to make, or if the masters could not tell this client that they handed
// the lock off to it.
func (m *Masters) next(t target) *contest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nextLocked(t)
}

func (m *Masters) nextLocked(t target) *contest {
	n := m.names[t]
	if n == nil {
		return nil
	}
	for w := n.line.first; w != n.line.next; w = w.after {
		if w.contest == nil {
			if !m.canBeTold() {
				return nil
			}
			return m.contestLocked(w)
		}
	}
	return nil
}

// contestLocked makes the contest of w. It counts as an operation under way. It is nil when the
// client is closed.
func (m *Masters) contestLocked(w *waiter) *contest {
	if !m.beginLocked() {
		return nil
	}
	w.contest = m.newContest(w.key, w.want, m.stamp(w.since), w.trace)
	return w.contest
}

// contend returns the contest of w, which bids, and begins one if there is none. It is nil when the
// client is closed.
func (m *Masters) contend(w *waiter) *contest {
	m.mu.Lock()
	if w.contest != nil || m.closed {
		defer m.mu.Unlock()
		return w.contest
	}
	c := m.contestLocked(w)
	m.mu.Unlock()
	c.start()
	return c
}

// won takes away the contest of a waiter that has won it.
func (m *Masters) won(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.contest = nil
	m.names[w.target].why = nil
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
	n := m.names[w.target]
	c := w.contest
	if c == nil {
		c = n.line.first.contest // w waits behind it
	}
	switch {
	case n.hold != nil:
		return nil
	case c == nil:
		return n.why
	}
	n.note(c)
	if n.why == nil {
		return c.reason(cut)
	}
	return n.why
}
