package node

import (
	"errors"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// read delivers answers until the connection breaks or is given up.
func (n *Node) read(l *link) {
	var due []delivery
	for {
		reply, err := l.conn.Receive() // timeOutCalls bounds the wait
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
// When an answer shows that the master has no vote, nothing more is read. So all calls behind that one are Unknown, and the
// releases among them are sent again: a master that was a replica for a while may have forgotten what it granted.
func (n *Node) receiveLocked(l *link, due []delivery, reply any, err error) []delivery {
	if err != nil {
		l.giveUp(err)
		return due
	}
	if l.inFlight.Len() == 0 {
		l.giveUp(errors.New("unexpected reply: " + quote.Value(reply)))
		return due
	}
	l.lastAnswer = clock.Now()
	full := l.inFlight.Len() >= n.pace.window
	c := l.inFlight.Pop()
	took := l.lastAnswer.Sub(c.sent)
	l.answerTime.add(min(took, n.cfg.Timeout)) // nobody waits for longer
	n.storeRoundTripLocked(l)
	if l.first {
		l.first, l.alone = false, took
	}
	n.pace.answered(c.sent, l.lastAnswer, full, took-l.alone > n.cfg.Timeout/2)
	empty := l.inFlight.Len() == 0
	if empty && n.state == up && n.queue.Len()+l.resends.Len()+n.unacked.len() == 0 {
		n.pace.rested()
	}
	if full || empty && (n.state != up || n.closing) {
		n.Flush() // the writer waits for this
	}
	if slices.Contains(checks[:], c.cmd) {
		return n.checkedLocked(l, due, &c, reply)
	}
	if c.cmd.Plain() { // whether the master is well is left to the checks
		return c.answer(due, c.cmd.Decode(reply))
	}
	if n.cfg.Trace != nil {
		n.traceAnswer(&c, l.lastAnswer, reply)
	}
	return n.answeredLocked(l, due, &c, reply)
}

// refusedLocked gives up the connection if refusal says that the master can serve no lock just now.
func (n *Node) refusedLocked(l *link, refusal redis.Error) {
	if refusal == "" || !server.CannotServe(refusal) {
		return
	}
	l.giveUp(refusal)
	if strings.HasPrefix(string(refusal), "READONLY") {
		n.replicaRun = l.id.Run
	}
}

// Why a connection is given up after a check, though the master answers.
var (
	errPromoted = errors.New("was a replica since")
	errTold     = errors.New("says what it is only now")
)

// checkedLocked takes in the answer to a check.
func (n *Node) checkedLocked(l *link, due []delivery, c *call, reply any) []delivery {
	refusal, _ := reply.(redis.Error)
	n.refusedLocked(l, refusal)
	switch {
	case c.cmd == ping && refusal == "":
		if why := server.CheckPong(reply); why != nil {
			l.giveUp(why)
		}
	case c.cmd == askTime:
		return n.addSampleLocked(due, c.sent, l.lastAnswer, reply)
	case c.cmd == askRole && refusal == "":
		switch now := server.Identify(reply); {
		case now.Replica():
			n.replicaRun = l.id.Run
			l.giveUp(server.ErrReplica)
		case l.id.Role == "" && now.Role != "": // INFO was refused, and is permitted now
			l.giveUp(errTold)
		case now.Promoted && now.History != l.id.History:
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
		if refusal, refused := one.(redis.Error); refused && server.CannotServe(refusal) {
			return script.Said(refusal)
		}
	}
	return ""
}
