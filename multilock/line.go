package multilock

import (
	"cmp"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
)

// line is the callers of a client that wait for one name, in the order of their calls. Those in
// front bid, each with a driver of its own: a writer alone; readers together with those next to them,
// and the first writer behind them, who keeps later readers of other clients out. Of those who want a permit,
// a few bid, see stand and mayBid.
type line struct {
	waiters []*waiter
	bids    int // how many of them bid, from the first on
}

// maxBids is how many of a client's callers bid for the permits of one semaphore at a time, if there are as
// many permits: those of other clients that began later may overtake the rest.
const maxBids = 32

// waiter is a caller that waits for a lock.
type waiter struct {
	req    Request
	line   string        // where it stands: the key, or see script.Slots
	turn   chan struct{} // closed when it bids
	enter  chan struct{} // told when its owner got the lock by another call
	told   chan struct{} // told what becomes of its drivers, and of a hint
	driver *driver       // nil if it has none yet. Masters.mu guards it

	// Of one that wants a permit. The mutex of the semaphore guards where it stands, and the caller alone changes that.
	semaphore *semaphore
	stands    []*driver // at each slot, in the order in which it came there; one that tries a slot does not wait for it
	hint      int       // the slot to try next, -1 if there is none
}

// bids reports whether it is one of those that bid.
func (w *waiter) bids() bool { return poll.IsClosed(w.turn) }

// closedChan is always ready to receive.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// insert puts w behind those who began to wait before it, and behind those who bid.
func (l *line) insert(w *waiter) {
	i := len(l.waiters)
	for i > l.bids && w.req.Since.Sub(l.waiters[i-1].req.Since) < 0 {
		i--
	}
	l.waiters = slices.Insert(l.waiters, i, w)
	if l.mayBid(i) {
		l.promote(i)
		w.turn = closedChan
	} else {
		w.turn = make(chan struct{})
	}
}

// remove takes w out, wherever it stands, and returns those who may bid then: the caller closes their turns.
func (l *line) remove(w *waiter) (next []*waiter) {
	i := slices.Index(l.waiters, w)
	l.waiters = slices.Delete(l.waiters, i, i+1)
	if i < l.bids {
		l.bids--
	}
	blocked := -1 // who counts so many permits
	for i := l.bids; i < len(l.waiters) && blocked != 0; i++ {
		switch w := l.waiters[i]; {
		case w.req.Permits == blocked:
		case l.mayBid(i):
			next = append(next, w)
			l.promote(i)
		default:
			blocked = w.req.Permits
		}
	}
	return next
}

// mayBid reports whether the waiter at i, which does not bid, may: of a lock, only the first of them. Of a semaphore, so
// many who bid count no more permits than it does: those who count more may go to slots that it does not know.
func (l *line) mayBid(i int) bool {
	permits := l.waiters[i].req.Permits
	switch {
	case permits > 0:
		rivals := 0
		for _, w := range l.waiters[:l.bids] {
			if w.req.Permits <= permits {
				rivals++
			}
		}
		return rivals < min(permits, maxBids)
	case i > l.bids:
		return false
	}
	return l.bids == 0 || l.waiters[l.bids-1].req.Shared
}

// promote has the waiter at i bid, behind those who do.
func (l *line) promote(i int) {
	w := l.waiters[i]
	copy(l.waiters[l.bids+1:i+1], l.waiters[l.bids:i])
	l.waiters[l.bids] = w
	l.bids++
}

// wake wakes the waiters of owner, which has got the lock: they enter its hold.
func (l *line) wake(owner any) {
	for _, w := range l.waiters {
		if w.req.Owner == owner {
			poke(w.enter)
		}
	}
}

// join puts a caller into the line for what it wants: at the end, unless it began to wait earlier.
func (m *Masters) join(req *Request) *waiter {
	w := &waiter{req: *req, line: req.line(), told: make(chan struct{}, 1)}
	w.req.Since = cmp.Or(req.Since, clock.Now())
	if req.Owner != nil {
		w.enter = make(chan struct{}, 1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nameLocked(w.line).line.insert(w)
	m.waits++
	return w
}

// leave takes a caller out of its line. What it has asked for and did not get is given up by a release that enters the
// next caller, whose turn is only then: else it might ask on its own, too.
func (m *Masters) leave(w *waiter) {
	m.mu.Lock()
	d := w.driver
	m.mu.Unlock()
	var why *poll.MajorityError // which those behind it are told
	if d != nil {
		why = d.reason(nil)
	}
	m.mu.Lock()
	n := m.names[w.line]
	next := n.line.remove(w)
	m.waits--
	if len(n.line.waiters) == 0 {
		m.ungranted.note(w.line, nil) // nobody would be told of the end
	}
	d, w.driver = w.driver, nil // a release may have made it one meanwhile
	n.why = cmp.Or(why, n.why)
	m.tidyLocked(w.line)
	m.mu.Unlock()
	if d != nil {
		d.giveUp()
		m.All.End()
	}
	for _, w := range next {
		close(w.turn)
	}
}

// bidders returns the drivers of those who bid for key, and makes them if need be and make is true.
func (m *Masters) bidders(key string, make bool) (all []*driver) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[key]
	if n == nil {
		return nil
	}
	for _, w := range n.line.waiters[:n.line.bids] {
		if d := w.driver; d != nil || make && m.driveLocked(w) {
			all = append(all, w.driver)
		}
	}
	return all
}

// startNext has those who bid for key ask who have not done so yet. Whatever this client sends about its own hold of it
// is to come behind their entries in the queues of the masters. Nobody asks if the masters could not tell
// this client that they handed the lock off to it. A release that goes to all masters enters the first of them itself:
// startNext is true if it has sent that.
func (m *Masters) startNext(key string, release *message) (sent bool) {
	if !m.canBeTold() {
		return false
	}
	all := m.bidders(key, true)
	first := -1
	if release != nil && release.cmd.Releases() && release.at == m.All.Set() {
		first = slices.IndexFunc(all, func(d *driver) bool { return d.is(attempt.Idle) })
	}
	for i, d := range all {
		if i != first {
			d.startAhead()
		}
	}
	return first >= 0 && all[first].follow(release)
}

// freed tells those who bid for key that this client gave it back, which no message does.
func (m *Masters) freed(key string) {
	for _, d := range m.bidders(key, false) {
		d.step(&attempt.Event{Kind: attempt.Hint, Delay: m.conf.Settle})
	}
}

// soon returns for how long a caller of this client that begins to wait for key may leave it to the client's
// next command about its own hold to have it ask: until a little after a
// renewal that is due at once, as of a hold that was handed off, and no time if none is.
func (m *Masters) soon(key string) time.Duration {
	h := m.latest(key)
	if h == nil || !m.canBeTold() {
		return 0
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if !h.d.state.Due || h.d.state.Want.Shared {
		return 0
	}
	if left := max(0, m.left(h.d.state.RenewAt)); left <= m.conf.TopUp {
		return left + m.conf.TopUp
	}
	return 0
}

// driveLocked makes the driver of w. It counts as an operation under way. It makes none when the
// client is closed.
func (m *Masters) driveLocked(w *waiter) bool {
	if !m.All.Begin() {
		return false
	}
	w.driver = m.newDriver(w.req.Key, &w.req, m.All.Stamp(w.req.Since), w.told)
	return true
}

// contend returns the driver of w, which bids, and begins one if there is none. It is nil when the
// client is closed.
func (m *Masters) contend(w *waiter) *driver {
	delay := m.soon(w.line)
	m.mu.Lock()
	if w.driver != nil || !m.driveLocked(w) {
		defer m.mu.Unlock()
		return w.driver
	}
	d := w.driver
	m.mu.Unlock()
	d.startIn(delay)
	return d
}

// bidDone takes away the driver of a waiter that has won, or is to ask anew.
func (m *Masters) bidDone(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.driver = nil
	m.names[w.line].why = nil
}

// reason returns what w waits for, nil if that is not known. cut is the error that ended the wait, which is no matter of
// the others'.
func (m *Masters) reason(w *waiter, cut error) *poll.MajorityError {
	m.mu.Lock()
	n, all := m.names[w.line], w.stands
	first := n.line.waiters[0] // w waits behind that
	if s := first.semaphore; s != nil && len(all) == 0 {
		s.mu.Lock()
		all = slices.Clone(first.stands)
		s.mu.Unlock()
	}
	if d := cmp.Or(w.driver, first.driver); d != nil {
		all = []*driver{d}
	}
	m.mu.Unlock()
	var why, short *poll.MajorityError
	for _, d := range all {
		why, short = cmp.Or(d.reason(nil), why), cmp.Or(d.reason(cut), short)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n.why = cmp.Or(why, n.why)
	return cmp.Or(n.why, short)
}
