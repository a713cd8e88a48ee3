package redlock

import (
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock"
)

// line is the queue of one client's callers that wait for one name. Only the first of
// them, the contender, bids for the lock at the masters.
type line struct {
	turns []*turn
	room  [1]*turn       // for turns
	bid   *multilock.Bid // of the first turn, nil if it has none
	last  *MajorityError // why the lock was not there when a contender last asked

	outage map[string]bool // reasons that the log was told for too few masters, nil if enough answer
}

// turn is a caller's place in a line.
type turn struct {
	c     *Client
	name  string
	lease time.Duration
	owner *owner        // nil: shared with nobody
	since clock.Instant // when the caller began to wait
	first chan struct{} // closed when it is the contender
	enter chan struct{} // told when its owner got the lock by another call
}

func (t *turn) isFirst() bool {
	select {
	case <-t.first:
		return true
	default:
		return false
	}
}

// ready is the channel of what is so at once.
var ready = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// join puts a caller at the end of the line for what it wants.
func (c *Client) join(w want) *turn {
	t := &turn{c: c, name: w.name, lease: w.lease, owner: w.owner, since: clock.Now()}
	if t.owner != nil {
		t.enter = make(chan struct{}, 1)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[t.name]
	if l == nil {
		l = new(line)
		l.turns = l.room[:0]
		c.lines[t.name] = l
	}
	t.first = ready
	if len(l.turns) > 0 {
		t.first = make(chan struct{})
	}
	l.turns = append(l.turns, t)
	return t
}

// leave takes a caller out of its line, from wherever it stands. A bid that it did not
// win is given up, and the next caller's takes its place.
func (c *Client) leave(t *turn) {
	c.mu.Lock()
	l := c.lines[t.name]
	i := slices.Index(l.turns, t)
	l.turns = slices.Delete(l.turns, i, i+1)
	var bid, next *multilock.Bid
	if i == 0 {
		bid, l.bid = l.bid, nil
	}
	if len(l.turns) == 0 {
		delete(c.lines, t.name)
	} else if i == 0 {
		close(l.turns[0].first)
	}
	if bid != nil {
		l.note(bid)
		next = c.next(t.name)
	}
	c.mu.Unlock()
	if bid != nil {
		bid.GiveUp(next)
		c.tries.Done()
	}
}

// next makes the bid of the caller whose turn it is at name, to be named in a release of
// the client's own: so it stands in the queue of the masters when the lock is passed on.
// It is nil if there is no caller, if its bid stands there already, and if nobody could be
// told that the lock was passed. c.mu is held.
func (c *Client) next(name string) *multilock.Bid {
	l := c.lines[name]
	if c.closed || l == nil || l.bid != nil || !c.masters.Hears() {
		return nil
	}
	return c.bid(l)
}

// bid makes a bid for the first turn of l, and counts it as a try. c.mu is held and
// c.closed unset.
func (c *Client) bid(l *line) *multilock.Bid {
	t := l.turns[0]
	c.tries.Add(1)
	l.bid = c.masters.NewBid(multilock.Wanted{Key: t.name, Lease: t.lease, Since: t.since, Waiter: t})
	return l.bid
}

// contend returns the bid of a turn that is the first, and makes one if there is none.
// It is nil when the client is closed.
func (c *Client) contend(t *turn) *multilock.Bid {
	c.mu.Lock()
	l := c.lines[t.name]
	bid := l.bid
	if bid != nil || c.closed {
		c.mu.Unlock()
		return bid
	}
	bid = c.bid(l)
	c.mu.Unlock()
	bid.Ask()
	return bid
}

// won takes the bid of a turn away that has won it.
func (c *Client) won(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[t.name]
	l.bid, l.last = nil, nil
}

// note remembers why bid was not won.
func (l *line) note(bid *multilock.Bid) {
	if why := bid.Failure(nil); why != nil {
		l.last = why
	}
}

// told returns what t waits for, nil if that is a hold of the client. cut is why it does
// not any longer.
func (c *Client) told(t *turn, cut error) *MajorityError {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds[t.name] != nil {
		return nil
	}
	l := c.lines[t.name]
	if l.bid == nil {
		return l.last
	}
	l.note(l.bid)
	if l.last == nil {
		return l.bid.Failure(cut)
	}
	return l.last
}

// wakeOwner wakes those in the line that may now enter the hold of o.
func (l *line) wakeOwner(o *owner) {
	for _, t := range l.turns {
		if t.owner == o {
			select {
			case t.enter <- struct{}{}:
			default:
			}
		}
	}
}
