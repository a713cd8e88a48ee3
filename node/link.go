package node

import (
	"context"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/awake"
	"example.com/redlock/internal/fifo"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// link is one connection. redigo allows one goroutine to write to it while another reads. The
// master answers in the order of the commands.
type link struct {
	conn *server.Conn
	peer
	guarded bool  // until it is noticed that guardEnds has passed
	careful bool  // of the writer: what it writes now neither heals nor hands off, as for a guarded master
	words   []any // room for a command that is written

	// The rest is guarded by Node.mu.
	inFlight   fifo.Queue[call] // written, or about to be, and not answered
	resends    fifo.Queue[call] // releases of earlier connections, not written yet
	lastAnswer clock.Instant
	checked    clock.Instant // when the checks were sent last
	silence    time.Duration // from then on, while the client is Idle
	beat       *time.Timer   // runs Node.beat
	beatDue    bool          // the checks are to be sent even if nothing else is
	notesDue   clock.Instant // when the next notes are
	answerTime answerTime
	alone      time.Duration // how long the answer took to the last call that found none in flight
	first      bool          // the oldest call in flight is such a one
	timer      *time.Timer   // runs timeOutCalls
	timerSet   bool
	timerDue   clock.Instant // when it is to run
	ranLate    bool          // it ran much later when it did last

	// ctx ends when the connection is given up, for the first reason that giveUp is told, or with the node's: then the
	// connection is broken, and nothing more is written or read.
	ctx    context.Context
	giveUp context.CancelCauseFunc
}

// err is why the connection is given up, nil as long as it is not: each reply asks.
func (l *link) err() error {
	if l.ctx.Err() == nil {
		return nil
	}
	return context.Cause(l.ctx)
}

// hopeless is how many times Config.Timeout an answer may take: a master that is that late is as good as
// gone.
const hopeless = 4

// setTimerLocked makes timeOutCalls run after d.
func (n *Node) setTimerLocked(l *link, d time.Duration) {
	l.timerSet, l.timerDue = true, clock.Now().Add(d)
	l.timer.Reset(d)
}

// timeOutCalls answers Unknown to the calls that have waited for Config.Timeout. They stay in
// flight, so that a late answer is matched with its own call and not with the next one.
//
// A master that answers nothing for that long is down, and up again once it has answered: a new connection would cost both
// sides more than that answer. Only after [hopeless] times as long is the connection given up.
//
// A timer that fires late shows that this process had no time to run, see [awake.Late]. The answers may have come by then, so
// the reader gets another chance before any call is answered, and the master is not judged.
func (n *Node) timeOutCalls(l *link) {
	now := awake.Now()
	n.mu.Lock()
	starved, again := awake.Late(now, l.timerDue, n.cfg.Timeout/2), l.ranLate
	if l.ranLate = starved; starved && !again {
		n.setTimerLocked(l, min(now.Sub(l.timerDue), n.cfg.Timeout/2))
		n.mu.Unlock()
		return
	}
	due, next := n.dropStaleLocked(nil, now, n.cfg.Timeout)
	if calls := l.inFlight.All(); len(calls) > 0 {
		oldest := now.Sub(calls[0].sent)
		if !starved && !again {
			if oldest >= hopeless*n.cfg.Timeout {
				l.giveUp(server.ErrTimeout)
				n.pace.hopeless(now)
			}
			if silent := l.silent(now); silent >= n.cfg.Timeout {
				due = n.goDownLocked(due, server.ErrTimeout)
			} else if n.state == up {
				next = min(next, n.cfg.Timeout-silent)
			}
		}
		next = min(next, max(hopeless*n.cfg.Timeout-oldest, n.cfg.Timeout/2))
		for i := range calls {
			if wait := n.cfg.Timeout - now.Sub(calls[i].sent); wait > 0 {
				next = min(next, wait)
				break
			}
			due = calls[i].answer(due, script.Answer{Outcome: script.Unknown, Err: server.ErrTimeout})
		}
	}
	l.timerSet = false
	if l.err() == nil && l.inFlight.Len()+n.queue.Len() > 0 {
		n.setTimerLocked(l, next)
	}
	n.mu.Unlock()
	n.deliver(due)
}

// silent returns for how long the master has not answered, while it should.
func (l *link) silent(now clock.Instant) time.Duration {
	calls := l.inFlight.All()
	if len(calls) == 0 {
		return 0
	}
	return min(now.Sub(l.lastAnswer), now.Sub(calls[0].sent))
}

// dropStaleLocked answers the commands that have waited for Config.Timeout to be written, and keeps the
// releases among them. It returns in how long it has to look again, which is next at most.
//
// An owner whose first command is dropped has nothing at the master. So its other commands are dropped as well, usually a
// release: a master that was not asked for a lock need not be asked to release it.
func (n *Node) dropStaleLocked(due []delivery, now clock.Instant, next time.Duration) ([]delivery, time.Duration) {
	if n.state != up || n.queue.Len() == 0 {
		return due, next // they wait for the connection, which has a deadline
	}
	if wait := n.cfg.Timeout - now.Sub(n.queue.All()[0].sent); wait > 0 {
		return due, min(next, wait)
	}
	n.pace.gaveUp()
	unsent := script.Answer{Outcome: script.Unsent, Err: server.ErrBehind}
	absent := make(map[string]bool) // owners
	n.queue.DeleteFunc(func(c call) bool {
		owner := c.cmd.Owner()
		wait := n.cfg.Timeout - now.Sub(c.sent)
		switch {
		case absent[owner]:
			due = c.answer(due, unsent)
		case wait <= 0:
			absent[owner] = c.cmd.First()
			due = n.abandonLocked(due, []call{c}, unsent)
		default:
			for named := range c.cmd.Owners() {
				delete(absent, named) // it is asked for after all
			}
			next = min(next, wait)
			return false
		}
		return true
	})
	return due, next
}
