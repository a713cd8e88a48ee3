package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// read delivers answers until the connection breaks, or until everything is answered and nothing
// will be written any more.
func (n *Node) read(l *link) {
	for {
		reply, err := redis.ReceiveWithTimeout(l.conn, 0) // timeOutCalls bounds the wait
		var one [1]delivery                               // saves an allocation, 10 of a lock on five masters
		n.mu.Lock()
		due := n.receiveLocked(l, one[:0], reply, err)
		finished := l.dead || l.done && l.inFlight.len() == 0
		n.mu.Unlock()
		deliver(due)
		if finished {
			return
		}
	}
}

// receiveLocked takes in the answer to the oldest call in flight.
func (n *Node) receiveLocked(l *link, due []delivery, reply any, err error) []delivery {
	refusal, refused := err.(redis.Error)
	if refused {
		refusal = script.Said(refusal)
	}
	if err != nil && !refused {
		l.dead = true
		// The reason is the first error, which may be the writer's. err may only say that
		// redigo has closed the connection since.
		l.failLocked(normalize(l.conn.Err()))
		return due
	}
	if l.inFlight.len() == 0 {
		l.dead = true
		l.failLocked(fmt.Errorf("unexpected reply: %T %.100v", reply, reply))
		return due
	}
	l.lastAnswer = time.Now()
	c := l.inFlight.pop()
	n.measureLocked(l, l.lastAnswer.Sub(c.sent))
	if l.inFlight.len() == 0 && (n.state != up || n.closing) {
		n.wakeWriter() // the writer waits for this
	}
	if c.withSource {
		delete(l.loading, c.cmd.SHA())
	} else if refused && strings.HasPrefix(string(refusal), "NOSCRIPT") {
		return n.resendLocked(l, due, c)
	}
	if refused && cannotServe(refusal) {
		l.failLocked(refusal)
		if strings.HasPrefix(string(refusal), "READONLY") {
			n.replicaRun = l.id.run
		}
		if c.cmd.Repeats() {
			n.unacked.add(c)
		}
	} else if c.cmd.Repeats() {
		n.unacked.acknowledged(c)
	}
	defer n.freeCallLocked(c)
	if c.cmd == AskTime {
		n.addSampleLocked(c.asked, clock.Now(), reply)
		return c.answer(due, script.Answer{Outcome: script.Done})
	}
	if refused {
		return c.answer(due, script.Answer{Outcome: script.Failed, Err: script.Meaning(refusal)})
	}
	if c.cmd == askRole {
		switch now := identify(reply); {
		case now.role != "" && now.role != "master":
			n.replicaRun = l.id.run
			l.failLocked(ErrReplica)
		case now.promoted && now.history != l.id.history:
			l.failLocked(errPromoted)
		}
		return due
	}
	if c.to == nil || c.answered {
		return due // of a ping, or too late
	}
	a, err := c.cmd.Decode(reply)
	if err != nil {
		a = script.Answer{Outcome: script.Failed, Err: err}
	} else if c.original != nil {
		a = c.original.Whole(c.cmd, a)
	}
	return c.answer(due, n.clockCheck.discount(c.cmd, a))
}

// resendLocked has a call written again, since the master did not have the script. Of all calls
// of a script, one carries its source, and the master has it for those that follow.
//
// c goes before the calls that are not written yet, but after those that are. If one of those
// is the release that undoes c, c must not run any more, and is answered instead.
func (n *Node) resendLocked(l *link, due []delivery, c *call) []delivery {
	cmd := c.cmd.Without(func(owner string) bool {
		return l.inFlight.any(func(other *call) bool {
			return other.number > c.number && other.cmd.Repeats() && other.cmd.Owner() == owner
		})
	})
	if cmd == nil {
		defer n.freeCallLocked(c)
		return c.answer(due, script.Answer{Outcome: script.Unsent, Err: script.ErrWithdrawn})
	}
	if c.original == nil && cmd != c.cmd {
		c.original = c.cmd
	}
	c.cmd = cmd
	// A call that followed the source once and still found no script brings it itself.
	if c.afterSource || !l.loading[cmd.SHA()] {
		c.withSource, l.loading[cmd.SHA()] = true, true
	} else {
		c.afterSource = true
	}
	l.retries = append(l.retries, c)
	n.wakeWriter()
	return due
}
