package node

import (
	"runtime"
	"slices"

	"example.com/redlock/clock"
)

// write writes what is queued until the connection breaks or the node closes.
func (n *Node) write(l *link) {
	broken := l.broken
	var batch []*call
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
		case <-broken:
			broken = nil // a caller who still writes wakes us
		}
	}
}

// canWriteDirectlyLocked reports whether whoever sends a command writes it as well, which saves
// waking the writer. It is so when the master has answered everything and may be sent any
// command. The buffers on the way there are empty then, so the write does not block. Otherwise commands gather for
// the writer, and share a flush; and so they do until the writer finds a single one, or the first of many callers
// would write alone each time.
func (n *Node) canWriteDirectlyLocked() bool {
	l := n.link
	return n.state == up && !l.writing && !l.crowded && !l.guarded && !n.clockCheck.unsteady() && l.err == nil &&
		l.inFlight.len()+len(l.resends)+n.unacked.len() == 0
}

// Flush writes what is queued, or wakes the writer if that may not be done at once.
func (n *Node) Flush() {
	var room [len(checks) + 1]*call // so that one call is written without an allocation
	l, batch := n.claim(room[:0])
	if l != nil {
		n.send(l, batch)
	}
	if l == nil || n.wrote(l) {
		n.wakeWriter()
	}
}

// claim puts what is queued in flight, for the caller to write. l is nil if that is for the writer.
func (n *Node) claim(room []*call) (l *link, batch []*call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := len(n.queue); k == 0 || k > maxBatch || n.closing || !n.canWriteDirectlyLocked() {
		return nil, nil
	}
	l, batch = n.link, append(room, n.queue...)
	clear(n.queue)
	n.queue = n.queue[:0]
	return l, n.putInFlightLocked(l, batch, batch[len(batch)-1].sent)
}

// wrote notes that a caller has written to l, and reports whether there is more for the writer.
func (n *Node) wrote(l *link) (more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l.writing = false
	return len(n.queue) > 0 || n.closing || l.err != nil
}

// putInFlightLocked puts batch in flight, behind the checks if they are due, and returns all that is to be written.
func (n *Node) putInFlightLocked(l *link, batch []*call, now clock.Instant) []*call {
	if l.beatDue || now.Sub(l.checked) >= heartbeat {
		batch = n.putChecksFirstLocked(l, batch, now)
	}
	l.writing = true
	l.first = l.first || l.inFlight.len() == 0
	for _, c := range batch {
		c.sent = now
		l.inFlight.push(c)
	}
	if !l.timerSet {
		n.setTimerLocked(l, n.cfg.Timeout)
	}
	return batch
}

// send writes batch and flushes it. It ignores errors: redigo closes a connection that it fails
// to write to, which the reader notices.
func (n *Node) send(l *link, batch []*call) {
	l.gather(true)
	for _, c := range batch {
		l.words = n.cfg.Prefix.Words(l.words[:0], c.cmd, c.guarded)
		_ = l.request(c.cmd.Longest(), l.words)
		clear(l.words) // so that it keeps nothing alive
	}
	l.gather(false)
	_ = l.conn.Flush()
}

// maxBatch bounds the calls that are written at once.
const maxBatch = 1024

// nextBatch puts in flight what may be written now, and returns it in place of the batch before,
// whose memory it reuses. done says that nothing will be written any more.
func (n *Node) nextBatch(l *link, last []*call) (batch []*call, due []delivery, done bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(last) > 0 {
		l.writing = false
		clear(last)
	}
	if l.writing {
		return last, nil, false // a caller writes, and wakes us afterwards
	}
	batch = last[:0]
	if l.err == nil {
		due = n.comeUpLocked(l)
		batch = n.fillBatchLocked(l, batch)
	}
	batch, due = n.applyGuardLocked(due, l, batch)
	beat := l.beatDue && l.err == nil && !n.closing
	if len(batch) == 0 && !beat {
		return batch, due, l.err != nil || n.closing && l.inFlight.len() == 0
	}
	l.crowded = len(batch) > 1
	return n.putInFlightLocked(l, batch, clock.Now()), due, false
}

// comeUpLocked notes that the master is up, if it has answered all that it was sent, and returns what is to be told
// then. What it must have answered are the releases that were not acknowledged when the connection was made: so
// releases cannot pile up at a master that answers handshakes and nothing else.
func (n *Node) comeUpLocked(l *link) (due []delivery) {
	if n.state == up || l.inFlight.len()+len(l.resends) > 0 {
		return nil
	}
	n.state, n.reason = up, nil
	n.logUpLocked(l)
	n.notifyLocked()
	if n.restarted {
		n.restarted = false
		due = n.observedLocked(nil, Observer.Restarted)
	}
	return due
}

// fillBatchLocked appends to batch what is to be written next, as far as there is room in the window: first the
// releases that are to be sent again, then what waits.
func (n *Node) fillBatchLocked(l *link, batch []*call) []*call {
	room := min(max(0, n.pace.window-l.inFlight.len()), maxBatch)
	if n.state == up && len(l.resends) == 0 {
		l.resends = n.unacked.takeAll()
	}
	if n.state == up || l.inFlight.len() == 0 {
		k := min(len(l.resends), room)
		for _, r := range l.resends[:k] {
			c := n.newCallLocked(r.cmd, nil)
			c.number = r.number
			batch = append(batch, c)
		}
		l.resends = l.resends[k:]
	}
	if n.state == up && len(n.queue) > 0 { // there is room if all resends are written
		k := min(len(n.queue), room-len(batch))
		batch, n.queue = append(batch, n.queue[:k]...), slices.Delete(n.queue, 0, k)
		if len(n.queue) == 0 {
			n.pace.tookAll()
		}
	}
	return batch
}
