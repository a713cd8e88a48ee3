package node

import (
	"context"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/awake"
	"example.com/redlock/internal/fifo"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktrace"
)

// keepConnected holds a connection to the master for as long as the node is open. Its end is that of the
// node's context.
func (n *Node) keepConnected() {
	defer n.cancel()
	defer n.goDown(ErrClosed)
	tries := server.FirstAttempts(n.cfg.Timeout)
	for n.ctx.Err() == nil { // after that the pool may be closed
		// Commands may wait for a connection, but not longer than for an answer. When the
		// node is down none wait, and it keeps the reason it has.
		deadline := awake.After(n.cfg.Timeout, func() {
			if !n.Down() {
				n.goDown(server.ErrTimeout)
			}
		})
		l, err := n.connect(tries.Patience)
		since, wasUp := time.Now(), false
		if err == nil {
			wasUp, err = n.serve(l)
		}
		deadline.Stop()
		if n.ctx.Err() != nil {
			return
		}
		// After a connection that worked for a while, the next one is tried at once: the master may only
		// have restarted. So it is if the scripts were gone, since the next one loads them.
		if l != nil && (time.Since(since) > heartbeat || wasUp && server.NoScript(err)) {
			tries = server.MoreAttempts()
			continue
		}
		n.goDown(err)
		n.pause(tries.Failed(err))
	}
}

// connect makes a connection and finds out where it leads.
func (n *Node) connect(patience time.Duration) (*link, error) {
	conn, err := n.server.Connect(n.ctx, patience)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn}
	l.ctx, l.giveUp = context.WithCancelCause(n.ctx)
	context.AfterFunc(l.ctx, l.conn.Sever)
	if err := n.handshake(l); err != nil {
		l.giveUp(err)
		l.conn.Close()
		n.cfg.Registry.left(n, l.id.Run)
		return nil, err
	}
	n.warnOfCertificates(conn)
	n.mu.Lock()
	n.link = l
	n.storeRoundTripLocked(l)
	l.resends = fifo.Of(n.unacked.takeAll())
	l.timer = time.AfterFunc(n.cfg.Timeout, func() { n.timeOutCalls(l) })
	n.setTimerLocked(l, n.cfg.Timeout)
	l.notesDue = clock.Now()
	l.beat = time.AfterFunc(n.firstBeatLocked(), func() { n.beat(l) })
	n.mu.Unlock()
	return l, nil
}

// warnOfCertificates logs once of each certificate that it ends soon.
func (n *Node) warnOfCertificates(conn *server.Conn) {
	for i, c := range conn.Certificates {
		if c == nil || !server.EndsSoon(c) || c.NotAfter.Equal(n.ending[i]) {
			continue
		}
		n.ending[i] = c.NotAfter
		whose := [...]string{"the master", "this client"}[i]
		n.cfg.Logger.Warn("redlock: certificate ends soon", "master", n.cfg.Name, "of", whose, "ends", c.NotAfter.UTC().Format(time.RFC3339))
	}
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
	return n.abandonLocked(due, n.queue.Drain(), script.Answer{Outcome: script.Unsent, Err: err})
}

// logDownLocked logs that the master is down, or that it is there and refused, and why. That it
// is down is logged once, even if the reason changes.
func (n *Node) logDownLocked(err error) {
	refused := server.IsRefusal(err)
	switch {
	case n.closing:
	case n.state == down && !refused && !server.IsRefusal(n.reason):
	case n.state == down && server.Kind(err) == server.Kind(n.reason):
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
	l.conn.Close()
	n.cfg.Registry.left(n, l.id.Run)

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
	lost := l.inFlight.Drain()
	n.unacked.noteInFlight(lost)
	for _, c := range l.resends.Drain() {
		n.unacked.keep(c)
	}
	due := n.abandonLocked(nil, lost, script.Answer{Outcome: script.Unknown, Err: l.err()})
	n.mu.Unlock()
	n.deliver(due)
	return wasUp, l.err()
}
