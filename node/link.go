package node

import (
	"slices"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// link is one connection. redigo allows one goroutine to write to it while another
// reads; the master answers in the order of the commands.
type link struct {
	conn   redis.Conn
	id     identity
	client int64         // the master's name for this connection, 0 if it does not say
	fit    clock.Instant // from when on the master grants holds
	young  bool          // fit may still lie ahead
	waits  bool          // it was logged that fit lies ahead

	ending sync.Mutex // one severs or ends it at a time
	ended  bool

	// The rest is guarded by Node.mu.
	busy   bool            // somebody writes to conn
	flight fifo            // written, or about to be, and not answered
	again  []*call         // to be written again, first of all: the script was not there
	loads  map[string]bool // whose source is on its way
	owed   []debt          // not written yet
	heard  time.Time       // when the master last answered
	trip   answerTime      // how long it takes to
	sweep  *time.Timer     // calls overdue
	armed  bool            // sweep is running
	done   bool            // nothing is written any more
	dead   bool            // nothing can be read any more
	err    error           // why the connection is given up
	broken chan struct{}   // closed with err
}

// sever breaks the connection, so that nobody is held up by reading from it or writing to it.
func (l *link) sever() {
	l.ending.Lock()
	defer l.ending.Unlock()
	if !l.ended {
		sever(l.conn)
	}
}

// end gives the connection back. Nobody uses it any more.
func (l *link) end() {
	l.ending.Lock()
	defer l.ending.Unlock()
	l.ended = true
	discard(l.conn)
}

// write puts what is queued on the wire until the link breaks or the node closes.
func (n *Node) write(l *link) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	broken := l.broken
	var batch []*call
	for {
		select {
		case <-beat.C: // also when there is always something to write
			n.beat()
		default:
		}
		var due []delivery
		var done bool
		batch, due, done = n.take(l, batch)
		deliver(due)
		if done {
			return
		}
		if len(batch) > 0 {
			l.put(batch...)
			continue
		}
		select {
		case <-n.wake:
		case <-broken:
			broken = nil // a caller who still writes wakes us
		case <-beat.C:
			n.beat()
		}
	}
}

// beat has the master asked what it is for a connection that nobody uses: whether it
// works, and can be written to, what the time is, and whether it is a master still.
func (n *Node) beat() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state == up {
		n.queue = append(n.queue, n.call(ping, nil, 0), n.call(AskTime, nil, 0), n.call(askRole, nil, 0))
	}
}

// repeat makes the call that settles a debt. Node.mu is held.
func (n *Node) repeat(d debt) *call {
	c := n.call(d.Command(), nil, 0)
	c.number = d.number
	return c
}

// direct reports whether a command is to be written by who sends it, which saves the way
// through the writer: when the master has answered all there was, and it is allowed whatever
// it is. The buffers between here and the master are empty then, so writing does
// not block. Otherwise commands gather, and share a flush. Node.mu is held.
func (n *Node) direct() bool {
	l := n.link
	return n.state == up && !l.busy && !l.young && !n.pace.unsteady() && l.err == nil && l.flight.len()+len(l.again)+len(l.owed)+len(n.queue) == 0
}

// launch is what follows direct. Node.mu is held, and given up.
func (n *Node) launch(c *call) {
	l := n.link
	l.busy = true
	n.fly(l, c)
	n.mu.Unlock()
	l.put(c)
	n.mu.Lock()
	l.busy = false
	wanted := len(n.queue)+len(l.again) > 0 || n.closing || l.err != nil
	n.mu.Unlock()
	if wanted {
		n.nudge() // the writer has waited for this
	}
}

// fly notes that calls are on their way. Node.mu is held.
func (n *Node) fly(l *link, calls ...*call) {
	now := time.Now()
	for _, c := range calls {
		c.sent = now
		if c.cmd == AskTime {
			c.looked = clock.Now()
		}
		l.flight.push(c)
	}
	if !l.armed {
		l.armed = true
		l.sweep.Reset(n.cfg.Timeout)
	}
}

// maxBatch bounds the calls that are written at once, and those in flight while a master
// settles what it owes.
const maxBatch = 1024

// take moves into flight what may be written now. The master is up once it has carried out
// what was owed when it connected: so debts cannot pile up at one that answers handshakes
// and nothing else. What became owed since comes next, before any command that waits.
//
// It returns the batch in place of the one before, which is used again.
func (n *Node) take(l *link, last []*call) (batch []*call, due []delivery, done bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(last) > 0 {
		l.busy = false
		clear(last)
	}
	if l.busy {
		return last, nil, false // a caller writes, and will say when it has
	}
	batch = last[:0]
	if l.err == nil {
		batch = n.ready(l, batch)
	}
	batch, due = n.allowed(l, batch)
	if len(batch) == 0 {
		l.done = l.err != nil || n.closing && l.flight.len() == 0
		return batch, due, l.done
	}
	l.busy = true
	n.fly(l, batch...)
	return batch, due, false
}

// ready appends to batch what is to be written next. Node.mu is held.
func (n *Node) ready(l *link, batch []*call) []*call {
	batch, l.again = moved(batch, l.again)
	idle := len(batch) == 0 && l.flight.len() == 0
	if n.state != up && idle && len(l.owed) == 0 {
		n.state, n.reason = up, nil
		n.away.Store(false)
		n.announce(l)
		n.changed()
		l.owed = n.owed.take()
	}
	if n.state == up || idle {
		k := min(len(l.owed), maxBatch-len(batch))
		for _, d := range l.owed[:k] {
			batch = append(batch, n.repeat(d))
		}
		l.owed = l.owed[k:]
	}
	if n.state == up { // there is room if nothing is owed any more
		batch, n.queue = moved(batch, n.queue)
	}
	return batch
}

// moved moves calls to the end of batch, as many as it has room for.
func moved(batch, from []*call) (_, rest []*call) {
	k := min(len(from), maxBatch-len(batch))
	return append(batch, from[:k]...), slices.Delete(from, 0, k)
}

// put writes batch and flushes it. redigo closes a connection that it fails to write
// to, which the reader notices, so errors are left to it.
func (l *link) put(batch ...*call) {
	for _, c := range batch {
		switch {
		case c.cmd == ping:
			_ = l.conn.Send("PING")
		case c.cmd == AskTime:
			_ = l.conn.Send("TIME")
		case c.cmd == askRole:
			_ = l.conn.Send("INFO", "replication")
		case c.source:
			_ = l.conn.Send("EVAL", c.cmd.Arguments(true, c.timid)...)
		default:
			_ = l.conn.Send("EVALSHA", c.cmd.Arguments(false, c.timid)...)
		}
	}
	_ = l.conn.Flush()
}

// overdue answers, with Unknown, the commands that have waited for Config.Timeout. They
// stay in flight, so that a late answer finds its command and not the next one. A
// connection that has answered nothing at all for so long is given up.
func (n *Node) overdue(l *link) {
	var due []delivery
	n.mu.Lock()
	now := time.Now()
	l.armed = false
	quiet := false
	if l.flight.len() > 0 {
		next := n.cfg.Timeout
		for _, c := range l.flight.all() {
			if wait := n.cfg.Timeout - now.Sub(c.sent); wait > 0 {
				next = wait
				break
			}
			due = c.settle(due, script.Answer{Outcome: script.Unknown, Err: ErrTimeout})
		}
		silence := min(now.Sub(l.heard), now.Sub(l.flight.all()[0].sent))
		quiet = silence >= n.cfg.Timeout
		if quiet {
			l.fail(ErrTimeout)
		} else {
			l.armed = true
			l.sweep.Reset(min(next, n.cfg.Timeout-silence))
		}
	}
	n.mu.Unlock()
	deliver(due)
	if quiet {
		l.sever()
	}
}

// fail gives the link up. Node.mu is held.
func (l *link) fail(err error) {
	if l.err == nil {
		l.err = err
		close(l.broken)
	}
}
