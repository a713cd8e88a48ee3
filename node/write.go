package node

import (
	"runtime"

	"example.com/redlock/clock"
	"example.com/redlock/internal/fifo"
	"example.com/redlock/node/script"
)

// write writes what is queued until the connection breaks or the node closes.
func (n *Node) write(l *link) {
	var batch []call
	for {
		var due []delivery
		var done bool
		batch, due, done = n.nextBatch(l, batch)
		n.deliver(due)
		if done {
			return
		}
		if len(batch) > 0 {
			n.send(l, batch)
			continue
		}
		select {
		case <-n.wake:
			// Callers who are about to send come first: what they send shares the flush.
			runtime.Gosched()
		case <-l.ctx.Done():
		}
	}
}

// send writes batch and flushes it. It ignores errors: redigo closes a connection that it fails
// to write to, which the reader notices.
func (n *Node) send(l *link, batch []call) {
	l.conn.Gather(true)
	for _, c := range batch {
		l.words = n.cfg.Prefix.Words(l.words[:0], c.cmd, l.careful)
		_ = l.conn.Request(c.cmd.Longest(), l.words)
		clear(l.words) // so that it keeps nothing alive
	}
	l.conn.Gather(false)
	_ = l.conn.Flush()
}

// maxBatch bounds the calls that are written at once.
const maxBatch = 1024

// nextBatch puts in flight what may be written now, and returns it in place of the batch before,
// whose memory it reuses. done says that nothing will be written any more.
func (n *Node) nextBatch(l *link, last []call) (batch []call, due []delivery, done bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(last)
	batch = last[:0]
	if l.err() == nil {
		due = n.comeUpLocked(l)
		n.endGuardLocked(l)
		batch, due = n.fillBatchLocked(l, batch, due)
	}
	beat := l.beatDue && l.err() == nil && !n.closing
	if len(batch) == 0 && !beat {
		return batch, due, l.err() != nil || n.closing && l.inFlight.Len() == 0
	}
	now := clock.Now()
	if beat || now.Sub(l.checked) >= heartbeat {
		batch = n.putChecksFirstLocked(l, batch, now)
	}
	l.first = l.first || l.inFlight.Len() == 0
	l.careful = l.guarded || n.clockCheck.unsteady()
	for i := range batch {
		batch[i].sent = now
		l.inFlight.Push(batch[i])
	}
	if !l.timerSet {
		n.setTimerLocked(l, n.cfg.Timeout)
	}
	return batch, due, false
}

// comeUpLocked notes that the master is up, if it has answered the releases that were not acknowledged when the connection
// was made, and returns what is to be told then. So releases cannot pile up at a master that answers handshakes and nothing
// else.
func (n *Node) comeUpLocked(l *link) (due []delivery) {
	if n.state == up || l.inFlight.Len()+l.resends.Len() > 0 {
		return nil
	}
	n.state, n.reason = up, nil
	n.logUpLocked(l)
	n.notifyLocked()
	if n.forgot {
		n.forgot = false
		due = n.observedLocked(nil, Observer.Doubted)
	}
	// Some have waited since before the connection broke.
	due, next := n.dropStaleLocked(due, clock.Now(), n.cfg.Timeout)
	n.setTimerLocked(l, next)
	return due
}

// fillBatchLocked appends to batch what is to be written next, as far as there is room in the window: first the
// releases that are to be sent again, then what waits. It appends to due the answers to what a guarded master is not sent.
func (n *Node) fillBatchLocked(l *link, batch []call, due []delivery) ([]call, []delivery) {
	room := min(max(0, n.pace.window-l.inFlight.Len()), maxBatch)
	if n.state == up && l.resends.Len() == 0 {
		l.resends = fifo.Of(n.unacked.takeAll())
	}
	if n.state == up || l.inFlight.Len() == 0 {
		for l.resends.Len() > 0 && len(batch) < room {
			batch = append(batch, l.resends.Pop())
		}
	}
	if n.state == up && n.queue.Len() > 0 { // there is room if all resends are written
		for n.queue.Len() > 0 && len(batch) < room {
			c := n.queue.Pop()
			if why := l.withhold(&c); why != nil {
				due = c.answer(due, script.Answer{Outcome: script.Unsent, Err: why})
				continue
			}
			batch = append(batch, c)
		}
		if n.queue.Len() == 0 {
			n.pace.tookAll()
		}
	}
	return batch, due
}
