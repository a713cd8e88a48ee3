package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
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
	if refused {
		refusal = script.Said(refusal)
	}
	if err != nil && !refused {
		l.dead = true
		// The first error, which may be the writer's, is the reason; err may only say
		// that redigo has closed the connection since.
		l.fail(plain(l.conn.Err()))
		return due
	}
	if l.flight.len() == 0 {
		l.dead = true
		l.fail(fmt.Errorf("unexpected reply: %T %.100v", reply, reply))
		return due
	}
	l.heard = time.Now()
	c := l.flight.pop()
	n.measure(l, l.heard.Sub(c.sent))
	if l.flight.len() == 0 && (n.state != up || n.closing) {
		n.nudge() // the writer waits for this
	}
	if c.source {
		delete(l.loads, c.cmd.SHA())
	} else if refused && strings.HasPrefix(string(refusal), "NOSCRIPT") {
		return n.resend(l, due, c)
	}
	if refused && unfit(refusal) {
		l.fail(refusal)
		if strings.HasPrefix(string(refusal), "READONLY") {
			n.replica = l.id.run
		}
		if c.cmd.Repeats() {
			n.owed.add(c)
		}
	} else if c.cmd.Repeats() {
		n.owed.settle(c)
	}
	defer n.drop(c)
	if c.cmd == AskTime {
		n.see(c.looked, clock.Now(), reply)
		return c.settle(due, script.Answer{Outcome: script.Done})
	}
	if refused {
		return c.settle(due, script.Answer{Outcome: script.Failed, Err: script.Meaning(refusal)})
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
	a, err := c.cmd.Decode(reply)
	if err != nil {
		a = script.Answer{Outcome: script.Failed, Err: err}
	} else if c.whole != nil {
		a = c.whole.Whole(c.cmd, a)
	}
	return c.settle(due, n.pace.doubt(c.cmd, a))
}

// resend has a command written again, since the master did not have the script. Only one
// call carries its source: those behind it find the script there.
//
// It goes first, before the commands that are not written yet; those that are come before
// it now. So it does not go where one of them is the release that undoes it. Node.mu
// is held.
func (n *Node) resend(l *link, due []delivery, c *call) []delivery {
	cmd := c.cmd.Without(func(owner string) bool {
		return l.flight.any(func(other *call) bool {
			return other.number > c.number && other.cmd.Repeats() && other.cmd.Owner() == owner
		})
	})
	if cmd == nil {
		defer n.drop(c)
		return c.settle(due, script.Answer{Outcome: script.Unsent, Err: script.ErrWithdrawn})
	}
	if c.whole == nil && cmd != c.cmd {
		c.whole = c.cmd
	}
	c.cmd = cmd
	// A call that was behind one before, and finds no script all the same, waits for no other.
	if c.behind || !l.loads[cmd.SHA()] {
		c.source, l.loads[cmd.SHA()] = true, true
	} else {
		c.behind = true
	}
	l.again = append(l.again, c)
	n.nudge()
	return due
}
