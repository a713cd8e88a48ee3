package node

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
)

// link is one connection. redigo allows one goroutine to write to it while another
// reads; the master answers in the order of the commands.
type link struct {
	conn   redis.Conn
	id     identity
	client int64         // the master's name for this connection, 0 if it does not say
	fit    clock.Instant // from when on the master grants holds
	young  bool          // fit may still lie ahead

	ending sync.Mutex // one severs or ends it at a time
	ended  bool

	// The rest is guarded by Node.mu.
	busy   bool          // somebody writes to conn
	flight fifo          // written, or about to be, and not answered
	heard  time.Time     // when the master last answered
	sweep  *time.Timer   // calls overdue
	armed  bool          // sweep is running
	done   bool          // nothing is written any more
	dead   bool          // nothing can be read any more
	err    error         // why the connection is given up
	broken chan struct{} // closed with err
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
	var batch []*call
	for {
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
		case <-l.broken:
		case <-beat.C:
			n.mu.Lock()
			if time.Since(l.heard) >= heartbeat {
				n.queue = append(n.queue, &call{cmd: ping})
			}
			n.mu.Unlock()
		}
	}
}

// direct reports whether a command is to be written by who sends it, which saves the way
// through the writer: when the master has answered all there was, and it is allowed whatever
// it is. The buffers between here and the master are empty then, so writing does
// not block. Otherwise commands gather, and share a flush. Node.mu is held.
func (n *Node) direct() bool {
	l := n.link
	return n.state == up && !l.busy && !l.young && l.err == nil && l.flight.len() == 0 && len(n.queue) == 0
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
	wanted := len(n.queue) > 0 || n.closing || l.err != nil
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
		l.flight.push(c)
	}
	if !l.armed {
		l.armed = true
		l.sweep.Reset(n.cfg.Timeout)
	}
}

// take moves into flight what may be written now. What earlier connections owe goes
// first and alone: only a master that carried it out is up, so debts can not pile up
// at one that answers handshakes and nothing else.
//
// It returns the batch in place of the one before, which is used again as the queue.
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
	if l.err == nil && n.state != up {
		batch, n.owed = n.owed, nil
		if len(batch) == 0 && l.flight.len() == 0 {
			n.state, n.reason = up, nil
			n.cfg.Logger.Info("redlock: master is up",
				"master", n.cfg.Name, "run_id", l.id.run, "guard", max(0, l.guard()))
		}
	}
	if l.err == nil && n.state == up && len(n.queue) > 0 {
		batch, n.queue = n.queue, batch
	}
	batch, due = l.allowed(batch)
	if len(batch) == 0 {
		l.done = l.err != nil || n.closing && l.flight.len() == 0
		return batch, due, l.done
	}
	l.busy = true
	n.fly(l, batch...)
	return batch, due, false
}

// allowed takes out of batch what a guarded master must not carry out, and marks what it
// must not do in full.
//
// The guard is checked here, as late as can be, and holds when the script runs: that
// happens in the process that this connection was opened to, which only gets older.
func (l *link) allowed(batch []*call) (rest []*call, due []delivery) {
	if !l.young {
		return batch, nil
	}
	left := l.guard()
	if left <= 0 {
		l.young = false
		return batch, nil
	}
	for _, c := range batch {
		if c.cmd.grants {
			due = c.settle(due, Answer{Outcome: Unsent, Err: &GuardedError{Left: left, Why: l.id.err}})
			continue
		}
		c.timid = c.cmd.passes
		rest = append(rest, c)
	}
	return rest, due
}

// put writes batch and flushes it. redigo closes a connection that it fails to write
// to, which the reader notices, so errors are left to it.
func (l *link) put(batch ...*call) {
	for _, c := range batch {
		switch {
		case c.cmd == ping:
			_ = l.conn.Send("PING")
		case c.source:
			_ = l.conn.Send("EVAL", c.arguments()...)
		default:
			_ = l.conn.Send("EVALSHA", c.arguments()...)
		}
	}
	_ = l.conn.Flush()
}

// arguments returns what goes over the wire. Commands are shared, so one that has to
// differ for this call is copied.
func (c *call) arguments() []any {
	args := c.cmd.args
	if c.source || c.timid {
		args = slices.Clone(args)
	}
	if c.source {
		args[0] = c.cmd.script.source
	}
	if c.timid {
		args[tokenArg] = ""
	}
	return args
}

// read passes on the answers until the link breaks, or nothing is written any more and all
// is answered.
func (n *Node) read(l *link) {
	for {
		reply, err := redis.ReceiveWithTimeout(l.conn, 0) // overdue sees to the time
		var one [1]delivery
		n.mu.Lock()
		due := n.received(l, one[:0], reply, err)
		over := l.dead || l.done && l.flight.len() == 0
		n.mu.Unlock()
		deliver(due)
		if over {
			return
		}
	}
}

// received takes in the answer to the oldest command in flight. n.mu is held.
func (n *Node) received(l *link, due []delivery, reply any, err error) []delivery {
	refusal, refused := err.(redis.Error)
	if err != nil && !refused {
		l.dead = true
		// The first error, which may be the writer's, is the reason; err may only say
		// that redigo has closed the connection since.
		l.fail(plain(l.conn.Err()))
		return due
	}
	if l.flight.len() == 0 {
		l.dead = true
		l.fail(unexpected(reply))
		return due
	}
	l.heard = time.Now()
	c := l.flight.pop()
	if l.flight.len() == 0 && (n.state != up || n.closing) {
		n.nudge() // the writer waits for this
	}
	if refused && strings.HasPrefix(string(refusal), "NOSCRIPT") && !c.source {
		return n.resend(l, due, c)
	}
	if refused && unfit(refusal) {
		l.fail(refusal)
		if c.cmd.repeat {
			n.owed = append(n.owed, c)
			return c.settle(due, Answer{Outcome: Failed, Err: refusal})
		}
	}
	defer n.drop(c)
	if refused {
		return c.settle(due, Answer{Outcome: Failed, Err: refusal})
	}
	if c.to == nil || c.answered {
		return due // a ping, or an answer that comes too late for anybody
	}
	a, err := c.cmd.read(reply)
	if err != nil {
		a = Answer{Outcome: Failed, Err: err}
	}
	return c.settle(due, a)
}

// resend queues a command again with the source of its script, which the master did
// not have, unless a release that undoes it is already on its way: that must not come
// first. n.mu is held.
func (n *Node) resend(l *link, due []delivery, c *call) []delivery {
	later := func(undoes func(*Command) bool) bool {
		is := func(c *call) bool { return undoes(c.cmd) }
		return l.flight.any(is) || slices.ContainsFunc(n.queue, is) || slices.ContainsFunc(n.owed, is)
	}
	if later(c.cmd.undoneBy) {
		return c.settle(due, Answer{Outcome: Unsent, Err: errWithdrawn})
	}
	if c.cmd.next != "" && later(func(cmd *Command) bool { return cmd.repeat && cmd.owner == c.cmd.next }) {
		c.cmd = c.cmd.alone() // the next one has given up
	}
	c.source = true
	if n.state == up {
		n.queue = append(n.queue, c)
	} else {
		n.owed = append(n.owed, c) // it was sent as one that is owed, and still is
	}
	n.nudge()
	return due
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
			due = c.settle(due, Answer{Outcome: Unknown, Err: ErrTimeout})
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

// guard returns how long the master still grants no holds.
func (l *link) guard() time.Duration { return clock.Until(l.fit) }
