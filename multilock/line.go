package multilock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
)

// line is the callers of a client that wait for one name, in the order of their calls. Those in front bid: they ask the
// masters. A writer bids alone. Readers next to each other bid together, with the first writer behind them, which keeps
// later readers of other clients out. Of callers that want a permit, a few bid: see stand and mayBid.
type line struct {
	waiters []*waiter
	bids    int // how many of them bid, from the first on
}

// maxBids is how many of a client's callers bid for the permits of one semaphore at a time, if there are as
// many permits: those of other clients that began later may overtake the rest.
const maxBids = 32

// waiter is a caller that waits for a lock.
type waiter struct {
	req   Request
	line  string        // where it stands: the key, or see script.Slots
	turn  chan struct{} // closed when it bids
	enter chan struct{} // told when its owner got the lock by another call
	told  chan struct{} // told what becomes of its drivers, and of a hint

	// Masters.mu guards these. Where a caller stands that wants a permit, it alone changes.
	stamp     time.Time  // its place in the queues of the masters, for good; zero before its first driver
	drivers   []*driver  // one for a lock, or for each slot that it waits for or tries, in the order in which it came there
	has       bool       // what it wanted, and is yet to leave
	room      [1]*driver // of drivers
	semaphore *semaphore // of which it wants a permit
	hint      int        // the slot to try next, -1 if there is none
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

// mayBid reports whether the waiter at i, which does not bid, may begin to. For a lock, only the first of them may. For a
// permit, it may unless as many others bid as it counts permits; those that count more permits do not matter, since
// they may go to slots that it does not know.
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

// promote makes the waiter at i the last of those that bid.
func (l *line) promote(i int) {
	w := l.waiters[i]
	copy(l.waiters[l.bids+1:i+1], l.waiters[l.bids:i])
	l.waiters[l.bids] = w
	l.bids++
}

// join puts a caller into the line for what it wants: at the end, unless it began to wait earlier.
func (m *Masters) join(req *Request) *waiter {
	w := &waiter{req: *req, line: req.line(), told: make(chan struct{}, 1)}
	w.drivers = w.room[:0]
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
// next caller, whose turn comes only then: otherwise that would ask on its own as well.
func (m *Masters) leave(w *waiter) {
	m.mu.Lock()
	asks := len(w.drivers) > 0
	m.mu.Unlock()
	if asks {
		m.reason(w, nil) // those behind it are told
	}
	m.mu.Lock()
	n := m.names[w.line]
	next := n.line.remove(w)
	m.waits--
	if len(n.line.waiters) == 0 {
		n.why = nil                   // the next waiter will find out itself
		m.ungranted.note(w.line, nil) // nobody would be told of the end
	}
	all := w.drivers // a release may have made one meanwhile
	w.drivers = nil
	m.tidyLocked(w.line)
	m.mu.Unlock()
	for _, d := range all {
		d.giveUp()
		m.All.End()
	}
	for _, w := range next {
		close(w.turn)
	}
}

// bidders returns the drivers with which those who bid wait for key. If make is true, it makes them for those who ask
// nobody: they have yet to begin, or have given up what they asked for, keep their place, and are about to look again.
func (m *Masters) bidders(key string, make bool) (all []*driver) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[lineOf(key)]
	if n == nil {
		return nil
	}
	for _, w := range n.line.waiters[:n.line.bids] {
		if make && len(w.drivers) == 0 && !w.has && w.req.Key == key {
			m.driveLocked(w, key, true)
		}
		for _, d := range w.drivers {
			if d.key == key && d.state.Want.Wait {
				all = append(all, d)
			}
		}
	}
	return all
}

// startNext makes those that bid for key ask now, if they have not done so: their entries have to be in the queues of the
// masters before whatever this client sends about its own hold of key. Nobody asks if the masters could not tell this
// client of a hand-off. A release that goes to all masters enters the first bidder itself; startNext is true if it has
// sent that release.
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

// freed tells those that bid for key that this client gave it back, where no message does.
func (m *Masters) freed(key string) {
	for _, d := range m.bidders(key, false) {
		d.step(&attempt.Event{Kind: attempt.Hint, Delay: m.conf.Settle})
	}
}

// soon returns how long a caller of this client that begins to wait for key leaves it to startNext to ask for it. A hold
// that was handed off is renewed or released in a moment, and its caller then asks with the same write. The time ends a
// little after that renewal; it is 0 if none is due soon.
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

// driveLocked makes a driver with which w asks for key, and waits for it if waits is true. It counts as an operation under
// way until drop, or won. It is nil when the client is closed.
func (m *Masters) driveLocked(w *waiter, key string, waits bool) *driver {
	if !m.All.Begin() {
		return nil
	}
	var since time.Time
	if waits {
		if w.stamp.IsZero() {
			w.stamp = m.All.Stamp(w.req.Since)
		}
		since = w.stamp
	}
	d := m.newDriver(key, &w.req, since, w.told)
	w.drivers = append(w.drivers, d)
	return d
}

// contend asks for the lock that w wants, unless that was done before. It is false when the client is closed.
func (m *Masters) contend(w *waiter) bool {
	delay := m.soon(w.line)
	m.mu.Lock()
	if len(w.drivers) > 0 {
		m.mu.Unlock()
		return true
	}
	d := m.driveLocked(w, w.line, true)
	m.mu.Unlock()
	if d == nil {
		return false
	}
	d.startIn(delay)
	return true
}

// won takes what w has won, if it has won anything. The error says that waiting does not help.
func (m *Masters) won(ctx context.Context, w *waiter) (*Hold, error) {
	var room [maxStands + 1]*driver
	m.mu.Lock()
	all := append(room[:0], w.drivers...)
	m.mu.Unlock()
	for _, d := range all {
		if d.is(attempt.Held) {
			return m.take(w, d), nil
		}
		why := d.reason(nil)
		switch {
		case why != nil && why.Hopeless && ctx.Err() == nil:
			return nil, why
		case d.is(attempt.Ended): // somebody else was faster, or it was over before the caller came to take it
			m.drop(w, d)
			if s := w.semaphore; s != nil && why != nil && !errors.Is(why, poll.ErrTaken) {
				m.mu.Lock()
				s.wary = true
				m.mu.Unlock()
			}
		}
	}
	return nil, nil
}

// take makes a hold of what d has won for w. It is nil if that has ended meanwhile. What else w has asked for is given up
// before, so that its trace ends with the call.
func (m *Masters) take(w *waiter, d *driver) *Hold {
	if len(w.drivers) > 1 {
		m.dropAll(w, d)
	}
	hold, _ := d.take(&w.req, nil)
	m.remove(w, d, hold != nil)
	if hold != nil {
		m.report(w.line, nil)
		m.checkBefore(hold)
	}
	m.All.End() // not before the hold is one that Close finds
	return hold
}

// dropAll gives up all that w asks for, but what it asks for with but.
func (m *Masters) dropAll(w *waiter, but *driver) {
	m.mu.Lock()
	all := slices.Clone(w.drivers)
	m.mu.Unlock()
	for _, d := range all {
		if d != but {
			m.drop(w, d)
		}
	}
}

// drop gives up what w asks for with d, unless that was done before.
func (m *Masters) drop(w *waiter, d *driver) {
	if m.remove(w, d, false) {
		d.giveUp()
		m.All.End()
	}
}

// remove takes d from what w asks for, and is false if it is not there any more. has says that w has what it wanted: nothing is removed after that.
func (m *Masters) remove(w *waiter, d *driver, has bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.has = has
	m.names[w.line].why = nil
	i := slices.Index(w.drivers, d)
	if i >= 0 {
		w.drivers = slices.Delete(w.drivers, i, i+1)
	}
	return i >= 0
}

// reason returns what w waits for, nil if that is not known. cut is the error that ended the wait, which is no matter of
// the others'.
func (m *Masters) reason(w *waiter, cut error) *poll.MajorityError {
	m.mu.Lock()
	n, all := m.names[w.line], w.drivers
	if len(all) == 0 {
		all = n.line.waiters[0].drivers // w waits behind that
	}
	all = slices.Clone(all)
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
