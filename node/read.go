package node

import (
	"errors"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
)

// read delivers answers until the connection breaks or is given up.
func (n *Node) read(l *link) {
	var due []delivery
	for {
		reply, err := l.receive() // timeOutCalls bounds the wait
		n.mu.Lock()
		due = n.receiveLocked(l, due[:0], reply, err)
		over := l.err() != nil
		n.mu.Unlock()
		n.deliver(due)
		clear(due) // so that it keeps nothing alive
		if over {
			return
		}
	}
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
		reply, err = refusal, refusal
	}
	if err != nil && !refused {
		l.giveUp(normalize(err))
		return due
	}
	if l.inFlight.len() == 0 {
		l.giveUp(errors.New("unexpected reply: " + quote.Value(reply)))
		return due
	}
	l.lastAnswer = clock.Now()
	full := l.inFlight.len() >= n.pace.window
	c := l.inFlight.pop()
	took := l.lastAnswer.Sub(c.sent)
	l.answerTime.add(min(took, n.cfg.Timeout)) // nobody waits for longer
	n.storeRoundTripLocked(l)
	if l.first {
		l.first, l.alone = false, took
	}
	n.pace.answered(c.sent, l.lastAnswer, full, took-l.alone > n.cfg.Timeout/2)
	empty := l.inFlight.len() == 0
	if empty && n.state == up && n.queue.len()+l.resends.len()+n.unacked.len() == 0 {
		n.pace.rested()
	}
	if full || empty && (n.state != up || n.closing) {
		n.Flush() // the writer waits for this
	}
	if slices.Contains(checks[:], c.cmd) {
		return n.checkedLocked(l, due, &c, reply, refusal)
	}
	if c.cmd.Plain() { // whether the master is well is left to the checks
		return c.answer(due, c.cmd.Decode(reply))
	}
	if n.cfg.Trace != nil {
		n.traceAnswer(&c, l.lastAnswer, err)
	}
	return n.answeredLocked(l, due, &c, reply)
}

// refusedLocked gives up the connection if refusal says that the master can serve no lock just now.
func (n *Node) refusedLocked(l *link, refusal redis.Error) {
	if refusal == "" || !cannotServe(refusal) {
		return
	}
	l.giveUp(refusal)
	if strings.HasPrefix(string(refusal), "READONLY") {
		n.replicaRun = l.id.run
	}
}

// checkedLocked takes in the answer to a check.
func (n *Node) checkedLocked(l *link, due []delivery, c *call, reply any, refusal redis.Error) []delivery {
	n.refusedLocked(l, refusal)
	switch {
	case c.cmd == ping && refusal == "":
		if why := checkPong(reply); why != nil {
			l.giveUp(why)
		}
	case c.cmd == askTime:
		return n.addSampleLocked(due, c.sent, l.lastAnswer, reply)
	case c.cmd == askRole && refusal == "":
		switch now := identify(reply); {
		case now.replica():
			n.replicaRun = l.id.run
			l.giveUp(ErrReplica)
		case l.id.role == "" && now.role != "": // INFO was refused, and is permitted now
			l.giveUp(errTold)
		case now.promoted && now.history != l.id.history:
			l.giveUp(errPromoted)
		}
	}
	return due
}

// answeredLocked takes in the reply to a call that runs a script.
func (n *Node) answeredLocked(l *link, due []delivery, c *call, reply any) []delivery {
	why := unserved(reply)
	if why != "" {
		n.refusedLocked(l, why)
		if c.cmd.Repeats() {
			n.unacked.add(c)
		}
	}
	if c.to == nil {
		return due // nobody waits for it, or it is too late
	}
	if why != "" {
		reply = why
	}
	a := c.cmd.Decode(reply)
	if c.withheld != nil {
		a = script.Answer{Outcome: script.Failed, Err: c.withheld}
	}
	return c.answer(due, n.clockCheck.discount(c.cmd, a))
}

// unserved returns a refusal that is the reply, or the answer to a hold in it, and says that the master
// can serve no lock just now; empty if there is none.
func unserved(reply any) redis.Error {
	all, list := reply.([]any)
	if !list {
		all = []any{reply}
	}
	for _, one := range all {
		if refusal, refused := one.(redis.Error); refused && cannotServe(refusal) {
			return script.Said(refusal)
		}
	}
	return ""
}
