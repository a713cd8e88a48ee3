package node

import (
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// link is one connection. redigo allows one goroutine to write to it while another reads. The
// master answers in the order of the commands.
type link struct {
	conn         redis.Conn
	id           identity
	clientID     int64         // of this connection at the master, 0 if it does not say
	guardEnds    clock.Instant // from then on the master grants holds
	mayBeGuarded bool          // guardEnds may be in the future
	guardLogged  bool          // it was logged that the master grants nothing yet

	closeMu sync.Mutex // guards closed, and that one at a time severs or closes
	closed  bool

	// The rest is guarded by Node.mu.
	writing    bool             // somebody writes to conn
	inFlight   fifo             // written, or about to be, and not answered
	retries    []*call          // to be written again before all others: the master had lost the script
	loading    map[string]bool  // SHA of each script whose source is on its way
	resends    []unackedRelease // of earlier connections, not written yet
	lastAnswer time.Time
	answerTime answerTime
	timer      *time.Timer // runs timeOutCalls
	timerSet   bool
	done       bool          // nothing is written any more
	dead       bool          // nothing can be read any more
	err        error         // why the connection is given up
	broken     chan struct{} // closed when err is set
}

// sever breaks the connection, so that nobody is held up by reading from it or writing to it.
func (l *link) sever() {
	l.closeMu.Lock()
	defer l.closeMu.Unlock()
	if !l.closed {
		sever(l.conn)
	}
}

// close gives the connection back to the pool. Nobody may use it afterwards.
func (l *link) close() {
	l.closeMu.Lock()
	defer l.closeMu.Unlock()
	l.closed = true
	discard(l.conn)
}

// failLocked gives the connection up. Node.mu must be held.
func (l *link) failLocked(err error) {
	if l.err == nil {
		l.err = err
		close(l.broken)
	}
}

// timeOutCalls answers Unknown to the calls that have waited for Config.Timeout. They stay in
// flight, so that a late answer is matched with its own call and not with the next one. A
// connection on which nothing was answered for that long is given up.
func (n *Node) timeOutCalls(l *link) {
	var due []delivery
	n.mu.Lock()
	now := time.Now()
	l.timerSet = false
	silent := false
	if l.inFlight.len() > 0 {
		next := n.cfg.Timeout
		for _, c := range l.inFlight.all() {
			if wait := n.cfg.Timeout - now.Sub(c.sent); wait > 0 {
				next = wait
				break
			}
			due = c.answer(due, script.Answer{Outcome: script.Unknown, Err: ErrTimeout})
		}
		silence := min(now.Sub(l.lastAnswer), now.Sub(l.inFlight.all()[0].sent))
		silent = silence >= n.cfg.Timeout
		if silent {
			l.failLocked(ErrTimeout)
		} else {
			l.timerSet = true
			l.timer.Reset(min(next, n.cfg.Timeout-silence))
		}
	}
	n.mu.Unlock()
	deliver(due)
	if silent {
		l.sever()
	}
}
