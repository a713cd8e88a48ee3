package multilock

import (
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
)

// line is the callers of a client that wait for one name, in the order of their calls. Those in
// front bid, each with a contest of its own: a writer alone; readers together with those next to them,
// and the first writer behind them, who keeps later readers of other clients out. Of those who want a permit,
// a few bid, see stander.
type line struct {
	waiters []*waiter
	bids    int // how many of them bid, from the first on
}

// maxBids is how many of a client's callers bid for the permits of one semaphore at a time, if there are as
// many permits: those of other clients that began later may overtake the rest.
const maxBids = 32

// waiter is a caller that waits for a lock.
type waiter struct {
	key     string // of the lock, or see script.Slots
	want    protocol.Want
	permits int           // above 0: it wants one of so many
	owner   any           // nil: shared with nobody
	entry   Entry         // whose context the log gets
	since   clock.Instant // when it began to wait
	turn    chan struct{} // closed when it bids
	enter   chan struct{} // told when its owner got the lock by another call
	contest *contest      // nil if it has none yet. Masters.mu guards it
	trace   *callTrace    // of the call, nil: it is not traced
}

// bids reports whether it is one of those that bid.
func (w *waiter) bids() bool { return poll.IsClosed(w.turn) }

// closedChan is always ready to receive.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// append puts w at the end.
func (l *line) append(w *waiter) {
	l.waiters = append(l.waiters, w)
	if l.bids == len(l.waiters)-1 && l.mayBid() {
		w.turn = closedChan
		l.bids++
	} else {
		w.turn = make(chan struct{})
	}
}

// remove takes w out, wherever it stands. Others may bid then, and are told.
func (l *line) remove(w *waiter) {
	i := slices.Index(l.waiters, w)
	l.waiters = slices.Delete(l.waiters, i, i+1)
	if i < l.bids {
		l.bids--
	}
	for l.bids < len(l.waiters) && l.mayBid() {
		close(l.waiters[l.bids].turn)
		l.bids++
	}
}

// mayBid reports whether the first waiter that does not bid may.
func (l *line) mayBid() bool {
	permits := l.waiters[l.bids].permits
	switch {
	case l.bids == 0:
		return true
	case permits > 0:
		return l.bids < min(permits, maxBids)
	}
	return l.waiters[l.bids-1].want.Shared
}

// wake wakes the waiters of owner, which has got the lock: they enter its hold.
func (l *line) wake(owner any) {
	for _, w := range l.waiters {
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
	w := &waiter{key: req.line(), want: req.want(), permits: req.Permits, owner: req.Owner, entry: req.Entry, since: clock.Now(), trace: req.trace}
	if w.owner != nil {
		w.enter = make(chan struct{}, 1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nameLocked(w.key).line.append(w)
	m.waits++
	return w
}

// leave takes a caller out of its line. A contest that it did not win is given up, and the next
// caller's takes its place.
func (m *Masters) leave(w *waiter) {
	m.mu.Lock()
	n := m.names[w.key]
	n.line.remove(w)
	m.waits--
	if len(n.line.waiters) == 0 {
		m.ungranted.ends(w.key) // nobody would be told of the end
	}
	c := w.contest
	var next *contest
	var others []*contest
	if c != nil {
		w.contest = nil
		n.note(c)
		next, others = m.nextLocked(w.key)
	}
	m.tidyLocked(w.key)
	m.mu.Unlock()
	for _, o := range others {
		o.start()
	}
	if c != nil {
		c.giveUp(next)
		m.End()
	}
}

// next returns the contests of those who bid for key and have asked nobody yet, and makes them if need
// be. Whatever this client sends about its hold of t is to come behind their entries in the queues of the
// masters, or a release may enter the first of them itself. There are none if the masters could not tell
// this client that they handed the lock off to it.
func (m *Masters) next(key string) (first *contest, others []*contest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.nextLocked(key)
}

func (m *Masters) nextLocked(key string) (first *contest, others []*contest) {
	n := m.names[key]
	if n == nil || !m.canBeTold() {
		return nil, nil
	}
	for _, w := range n.line.waiters[:n.line.bids] {
		c := w.contest
		switch {
		case c == nil:
			if c = m.contestLocked(w); c == nil {
				return first, others
			}
		case c.begun():
			continue
		}
		if first == nil {
			first = c
		} else {
			others = append(others, c)
		}
	}
	return first, others
}

// freed tells those who bid for key that this client gave it back, which no message does.
func (m *Masters) freed(key string) {
	var bids []*contest
	m.mu.Lock()
	if n := m.names[key]; n != nil {
		for _, w := range n.line.waiters[:n.line.bids] {
			if w.contest != nil {
				bids = append(bids, w.contest)
			}
		}
	}
	m.mu.Unlock()
	for _, c := range bids {
		c.step(&protocol.Event{Kind: protocol.Hint, Delay: m.conf.Settle})
	}
}

// soon returns for how long a caller of this client that begins to wait for key may leave it to the client's
// next command about its own hold to enter it into the queues of the masters: until a little after a
// renewal that is due at once, as of a hold that was handed off, and no time if none is.
func (m *Masters) soon(key string) time.Duration {
	h := m.latest(key)
	if h == nil || !m.canBeTold() {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.state.Due || h.state.Shared {
		return 0
	}
	if left := max(0, clock.Until(h.state.RenewAt)); left <= m.conf.TopUp {
		return left + m.conf.TopUp
	}
	return 0
}

// contestLocked makes the contest of w. It counts as an operation under way. It is nil when the
// client is closed.
func (m *Masters) contestLocked(w *waiter) *contest {
	if !m.Begin() {
		return nil
	}
	w.contest = m.newContest(w.key, w.want, m.Stamp(w.since), w.trace)
	return w.contest
}

// contend returns the contest of w, which bids, and begins one if there is none. It is nil when the
// client is closed.
func (m *Masters) contend(w *waiter) *contest {
	delay := m.soon(w.key)
	m.mu.Lock()
	if w.contest != nil || m.Closed() {
		defer m.mu.Unlock()
		return w.contest
	}
	c := m.contestLocked(w)
	m.mu.Unlock()
	c.startIn(delay)
	return c
}

// won takes away the contest of a waiter that has won it.
func (m *Masters) won(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.contest = nil
	m.names[w.key].why = nil
}

// note remembers why c was not won.
func (n *name) note(c *contest) {
	if why := c.reason(nil); why != nil {
		n.why = why
	}
}

// reason returns what w waits for, nil if that is not known. cut is the error that ended the wait.
func (m *Masters) reason(w *waiter, cut error) *poll.MajorityError {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[w.key]
	c := w.contest
	if c == nil {
		c = n.line.waiters[0].contest // w waits behind it
	}
	if c == nil {
		return n.why
	}
	n.note(c)
	if n.why == nil {
		return c.reason(cut)
	}
	return n.why
}
