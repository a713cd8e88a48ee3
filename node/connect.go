package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// keepConnected holds a connection to the master for as long as the node is open. Its end is that of the
// node's context.
func (n *Node) keepConnected() {
	defer n.cancel()
	defer n.goDown(ErrClosed)
	tries := newAttempts(n.cfg.Timeout)
	for n.ctx.Err() == nil { // after that the pool may be closed
		// Commands may wait for a connection, but not longer than for an answer. When the
		// node is down none wait, and it keeps the reason it has.
		deadline := afterAwake(n.cfg.Timeout, func() {
			if !n.Down() {
				n.goDown(ErrTimeout)
			}
		})
		l, err := n.connect(tries.patience)
		since, wasUp := time.Now(), false
		if err == nil {
			wasUp, err = n.serve(l)
		}
		deadline.stop()
		if n.ctx.Err() != nil {
			return
		}
		// A connection that worked for a while is tried again at once: the master may only
		// have restarted. So is one that worked until the scripts were gone, which the next one loads.
		if l != nil && (time.Since(since) > heartbeat || wasUp && noScript(err)) {
			tries = moreAttempts()
			continue
		}
		n.goDown(err)
		n.pause(tries.failed(err))
	}
}

// connect makes a connection and finds out where it leads.
func (n *Node) connect(patience time.Duration) (*link, error) {
	w, err := n.borrow(n.ctx, patience)
	if err != nil {
		return nil, err
	}
	l := &link{wire: w}
	l.ctx, l.giveUp = context.WithCancelCause(n.ctx)
	context.AfterFunc(l.ctx, l.sever)
	if err := n.handshake(l); err != nil {
		l.giveUp(err)
		l.close()
		n.cfg.Registry.left(n, l.id.run)
		return nil, n.normalize(err)
	}
	n.warnOfCertificates(w)
	n.mu.Lock()
	n.link = l
	n.storeRoundTripLocked(l)
	l.resends = fifo[call]{list: n.unacked.takeAll()}
	l.timer = time.AfterFunc(n.cfg.Timeout, func() { n.timeOutCalls(l) })
	n.setTimerLocked(l, n.cfg.Timeout)
	l.notesDue = clock.Now()
	l.beat = time.AfterFunc(n.firstBeatLocked(), func() { n.beat(l) })
	n.mu.Unlock()
	return l, nil
}

// goDown answers everything that waits for a connection, unless there is one.
func (n *Node) goDown(err error) {
	n.mu.Lock()
	var due []delivery
	if n.state != up {
		due = n.goDownLocked(nil, err)
	}
	n.mu.Unlock()
	n.deliver(due)
}

// goDownLocked answers everything that waits to be written, and appends that to due.
func (n *Node) goDownLocked(due []delivery, err error) []delivery {
	n.logDownLocked(err)
	n.state, n.reason = down, err
	n.notifyLocked()
	if n.closing && n.link == nil {
		n.cancel()
	}
	if n.link == nil { // else the master may still run what is in flight
		n.unacked.expire(n.cfg.MaxLease)
	}
	return n.abandonLocked(due, n.queue.drain(), script.Answer{Outcome: script.Unsent, Err: err})
}

// logDownLocked logs that the master is down, or that it is there and refused, and why. That it
// is down is logged once, even if the reason changes.
func (n *Node) logDownLocked(err error) {
	refused := isRefusal(err)
	switch {
	case n.closing:
	case n.state == down && !refused && !isRefusal(n.reason):
	case n.state == down && Kind(err) == Kind(n.reason):
	case refused:
		n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateRefused, Err: err})
		n.cfg.Logger.Warn("redlock: master is refused", "master", n.cfg.Name, "error", err)
	default:
		n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateDown, Err: err})
		n.cfg.Logger.Warn("redlock: master is down", "master", n.cfg.Name, "error", err)
	}
}

// serve uses a connection until it breaks or the node closes. It returns whether the master was up by then, and why the
// connection ended.
func (n *Node) serve(l *link) (wasUp bool, err error) {
	readerDone := make(chan struct{})
	// Goroutines: the reader, which serve waits for. It ends when the connection fails or is given up.
	go func() {
		defer close(readerDone)
		n.read(l)
	}()
	n.write(l)
	l.giveUp(ErrClosed) // or it was before
	<-readerDone
	l.close()
	n.cfg.Registry.left(n, l.id.run)

	n.mu.Lock()
	n.link = nil
	n.roundTrip.Store(0)
	if wasUp = n.state == up; wasUp {
		n.state, n.reason = connecting, l.err()
	}
	if n.closing {
		n.cancel() // there will be no other connection
	}
	n.previous = l.peer
	n.previous.ended = clock.Now()
	l.timer.Stop()
	l.beat.Stop()
	lost := l.inFlight.drain()
	n.unacked.noteInFlight(lost)
	for _, c := range l.resends.drain() {
		n.unacked.keep(c)
	}
	due := n.abandonLocked(nil, lost, script.Answer{Outcome: script.Unknown, Err: l.err()})
	n.mu.Unlock()
	n.deliver(due)
	return wasUp, l.err()
}

// Attempts to connect begin with these times.
const (
	// firstPatience bounds how long it takes to connect, and half of it each reply of the handshake, unless
	// Config.Timeout gives a reply longer. It is not less, since TCP and TLS take several round trips to connect, and
	// nobody waits for it.
	firstPatience = time.Second
	firstRetry    = 20 * time.Millisecond
)

const (
	// lastPatience bounds an attempt at a master that was found to be too busy for shorter ones.
	lastPatience = 8 * time.Second

	// lastRetry bounds the pause between two attempts, and so how long it goes unnoticed that a master
	// has returned.
	lastRetry = 500 * time.Millisecond
)

// attempts paces the attempts to connect to one master, see docs/design/masters.md. A connection costs a master far more
// than a command does, so one that gives up and begins anew makes the queue longer for all, itself included. Where not even
// TCP connects, nothing is lost with an attempt, and patience would only delay the next.
type attempts struct {
	patience time.Duration // of the next attempt
	retry    time.Duration // the mean pause before it
}

// newAttempts are those at a master that has not answered yet: it may not be one, which its user wants to
// hear soon. A reply may take timeout, as any other.
func newAttempts(timeout time.Duration) attempts {
	return attempts{min(max(firstPatience, 2*timeout), lastPatience), firstRetry}
}

// moreAttempts are those after a connection that worked. All others may have lost theirs at the same moment.
func moreAttempts() attempts { return attempts{lastPatience, firstRetry} }

// failed takes in why an attempt failed, and returns how long to pause before the next.
func (a *attempts) failed(err error) (pause time.Duration) {
	if errors.Is(err, ErrTimeout) && err != errUnreached {
		a.patience = min(2*a.patience, lastPatience)
	}
	pause = a.retry/2 + rand.N(a.retry)
	a.retry = min(2*a.retry, lastRetry)
	return pause
}
