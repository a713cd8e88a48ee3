package node

import (
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
)

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
	refusal = said(refusal)
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
	n.measure(l, l.heard.Sub(c.sent))
	if l.flight.len() == 0 && (n.state != up || n.closing) {
		n.nudge() // the writer waits for this
	}
	if refused && strings.HasPrefix(string(refusal), "NOSCRIPT") && !c.source {
		return n.resend(l, due, c)
	}
	if refused && unfit(refusal) {
		l.fail(refusal)
		if strings.HasPrefix(string(refusal), "READONLY") {
			n.replica = l.id.run
		}
		if c.cmd.repeat {
			l.owed = append(l.owed, c)
			return c.settle(due, Answer{Outcome: Failed, Err: refusal})
		}
	}
	if c.cmd.repeat && len(l.owed) > 0 {
		l.owed = append(l.owed, c) // once more, after those that it came after
	} else {
		defer n.drop(c)
	}
	if c.cmd == AskTime {
		n.see(c.looked, clock.Now(), reply)
		return c.settle(due, Answer{Outcome: Done})
	}
	if refused {
		return c.settle(due, Answer{Outcome: Failed, Err: refusal})
	}
	if c.cmd == askRole {
		switch now := identify(reply); {
		case now.role != "" && now.role != "master":
			n.replica = l.id.run
			l.fail(ErrReplica)
		case now.promoted && now.history != l.id.history:
			l.fail(errPromoted)
		}
		return due
	}
	if c.to == nil || c.answered {
		return due // a ping, or an answer that comes too late for anybody
	}
	a, err := c.cmd.read(reply)
	if err != nil {
		a = Answer{Outcome: Failed, Err: err}
	}
	return c.settle(due, n.pace.doubt(c.cmd, a))
}

// resend queues a command again with the source of its script, which the master did
// not have, unless a release that undoes it is already on its way: that must not come
// first. n.mu is held.
func (n *Node) resend(l *link, due []delivery, c *call) []delivery {
	later := func(undoes func(*Command) bool) bool {
		is := func(other *call) bool { return other.number > c.number && undoes(other.cmd) }
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
