package node

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// read delivers answers until the connection breaks or is given up for what it answered, or until
// everything is answered and nothing will be written any more.
func (n *Node) read(l *link) {
	var due []delivery
	for {
		reply, err := receive(l.conn, 0) // timeOutCalls bounds the wait
		n.mu.Lock()
		due = n.receiveLocked(l, due[:0], reply, err)
		dead, finished := l.dead, l.done && l.inFlight.len() == 0
		n.mu.Unlock()
		deliver(due)
		clear(due) // so that it keeps nothing alive
		if dead {
			l.sever() // whoever is held up by writing to it, since nobody reads
		}
		if dead || finished {
			return
		}
	}
}

// receive reads a reply. redigo panics at some that no server sends which is well, and connections of a
// user's pool pass on all of them.
func receive(conn redis.Conn, timeout time.Duration) (reply any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errReply, p)
		}
	}()
	return redis.ReceiveWithTimeout(conn, timeout)
}

// receiveLocked takes in the answer to the oldest call in flight.
//
// When an answer shows that the master has no vote, nothing more is read. So whatever was written
// behind that call is Unknown, and a release among it is sent again: a master that was a replica for
// a while may have granted what it has forgotten.
func (n *Node) receiveLocked(l *link, due []delivery, reply any, err error) []delivery {
	refusal, refused := err.(redis.Error)
	if refused {
		refusal = script.Said(refusal)
	}
	if err != nil && !refused {
		// The reason is the first error, which may be the writer's. err may only say that
		// redigo has closed the connection since.
		l.giveUpLocked(normalize(cmp.Or(l.conn.Err(), err)))
		return due
	}
	if l.inFlight.len() == 0 {
		l.giveUpLocked(fmt.Errorf("unexpected reply: %T %.100v", reply, reply))
		return due
	}
	l.lastAnswer = clock.Now()
	full := l.flights >= n.pace.window
	l.flights--
	flight := l.inFlight.popFlight(l.answered[:0])
	l.answered = flight
	first := flight[0]
	took := l.lastAnswer.Sub(first.sent)
	n.measureLocked(l, took)
	if l.first {
		l.first, l.alone = false, took
	}
	n.pace.answered(first.sent, l.lastAnswer, full, took-l.alone > n.cfg.Timeout/2)
	empty := l.inFlight.len() == 0
	if empty && n.state == up && len(n.queue)+len(l.resends)+n.unacked.len() == 0 {
		n.pace.rested()
	}
	if full || empty && (n.state != up || n.closing) {
		n.wakeWriter() // the writer waits for this
	}
	if isCheck(first.cmd) {
		return n.checkedLocked(l, due, first, reply, refusal)
	}
	if first.cmd.Plain() != nil { // whether the master is well is left to the checks
		defer n.freeCallLocked(first)
		return first.answer(due, script.DecodePlain(reply, refusal))
	}
	if n.cfg.Trace != nil {
		n.traceAnswer(flight, first.sent, l.lastAnswer, err)
	}
	if first.withSource {
		l.loading = false
	} else if refused && strings.HasPrefix(string(refusal), "NOSCRIPT") {
		for _, c := range flight {
			due = n.resendLocked(l, due, c)
		}
		return due
	}
	if len(flight) > 1 && refusesKeys(refusal) {
		for _, c := range flight {
			c.alone, c.withSource = true, false
			due, _ = n.writeAgainLocked(l, due, c)
		}
		return due
	}
	if refused {
		reply = refusal
	}
	replies, err := script.Split(l.reply[:0], reply, steps(flight))
	for _, c := range flight {
		if err != nil {
			due = n.failedLocked(l, due, c, refusal, err)
			continue
		}
		k := c.cmd.Steps()
		due = n.answeredLocked(l, due, c, replies[:k])
		replies = replies[k:]
	}
	return due
}

// refusedLocked gives up the connection if refusal says that the master can serve no lock just now.
func (n *Node) refusedLocked(l *link, refusal redis.Error) (givenUp bool) {
	if !cannotServe(refusal) {
		return false
	}
	l.giveUpLocked(refusal)
	if strings.HasPrefix(string(refusal), "READONLY") {
		n.replicaRun = l.id.run
	}
	return true
}

// checkedLocked takes in the answer to a check.
func (n *Node) checkedLocked(l *link, due []delivery, c *call, reply any, refusal redis.Error) []delivery {
	defer n.freeCallLocked(c)
	n.refusedLocked(l, refusal)
	switch {
	case c.cmd == AskTime:
		due = n.addSampleLocked(due, c.sent, l.lastAnswer, reply)
		return c.answer(due, script.Answer{Outcome: script.Done})
	case c.cmd == askRole && refusal == "":
		switch now := identify(reply); {
		case now.replica():
			n.replicaRun = l.id.run
			l.giveUpLocked(ErrReplica)
		case now.promoted && now.history != l.id.history:
			l.giveUpLocked(errPromoted)
		}
	}
	return due
}

// answeredLocked takes in the replies to the steps of a call.
func (n *Node) answeredLocked(l *link, due []delivery, c *call, replies []any) []delivery {
	for _, reply := range replies {
		if refusal, refused := reply.(redis.Error); refused && cannotServe(refusal) {
			return n.failedLocked(l, due, c, script.Said(refusal), script.Meaning(refusal))
		}
	}
	defer n.freeCallLocked(c)
	if c.to == nil || c.answered {
		return due // nobody waits for it, or it is too late
	}
	a := c.cmd.Decode(replies)
	if c.original != nil {
		a = c.original.Whole(c.cmd, a)
	}
	if c.withheld != nil {
		a = script.Answer{Outcome: script.Failed, Err: c.withheld}
	}
	return c.answer(due, n.clockCheck.discount(c.cmd, a))
}

// failedLocked answers a call that the master refused to carry out, or whose reply makes no sense.
func (n *Node) failedLocked(l *link, due []delivery, c *call, refusal redis.Error, err error) []delivery {
	if n.refusedLocked(l, refusal) && c.cmd.Repeats() {
		n.unacked.add(c)
	}
	defer n.freeCallLocked(c)
	return c.answer(due, script.Answer{Outcome: script.Failed, Err: err})
}

// resendLocked has a call written again, since the master did not have the script. The first of
// them carries its source, and the master has it for those that follow.
func (n *Node) resendLocked(l *link, due []delivery, c *call) []delivery {
	due, again := n.writeAgainLocked(l, due, c)
	switch {
	case !again:
	case c.afterSource || !l.loading: // one that followed the source once brings it itself
		c.withSource, l.loading = true, true
	default:
		c.afterSource = true
	}
	return due
}

// writeAgainLocked has a call written again that the master did not run, unless that is not wanted any
// more, and reports which.
//
// c goes before the calls that are not written yet, but after those that are, and must not undo what
// those do. If one of them is the release that undoes c, c must not run any more, and is answered
// instead.
func (n *Node) writeAgainLocked(l *link, due []delivery, c *call) (_ []delivery, again bool) {
	cmd := c.cmd
	for _, later := range l.inFlight.all() {
		if cmd != nil && later.number > c.number {
			cmd = cmd.Behind(later.cmd)
		}
	}
	if cmd == nil {
		defer n.freeCallLocked(c)
		return c.answer(due, script.Answer{Outcome: script.Unsent, Err: script.ErrWithdrawn}), false
	}
	if c.original == nil && cmd != c.cmd {
		c.original = c.cmd
	}
	c.cmd = cmd
	l.retries = append(l.retries, c)
	n.wakeWriter()
	return due, true
}
