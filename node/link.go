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
	wire
	id           identity
	clientID     int64         // of this connection at the master, 0 if it does not say
	guardEnds    clock.Instant // from then on the master grants holds
	mayBeGuarded bool          // guardEnds may be in the future
	guardLogged  bool          // it was logged that the master grants nothing yet
	script       script.Call   // what is written: of whoever writes

	// The rest is guarded by Node.mu.
	writing    bool             // somebody writes to conn
	crowded    bool             // the writer found more than one call when it wrote last
	inFlight   fifo             // written, or about to be, and not answered
	retries    []*call          // to be written again before all others: the master had lost the script
	loading    bool             // the source of the script is on its way
	resends    []unackedRelease // of earlier connections, not written yet
	lastAnswer clock.Instant
	checked    clock.Instant // when the checks were sent last
	silence    time.Duration // from then on, while the client is Idle
	beat       *time.Timer   // runs Node.beat
	beatDue    bool          // the checks are to be sent even if nothing else is
	notes      []Note        // to go along with the next checks
	noted      clock.Instant // when notes were sent last
	answerTime answerTime
	timer      *time.Timer // runs timeOutCalls
	timerSet   bool
	done       bool          // nothing is written any more
	dead       bool          // nothing can be read any more
	err        error         // why the connection is given up
	broken     chan struct{} // closed when err is set

	// Room of the reader, to be used again.
	answered []*call
	reply    [1]any
}

// wire is a connection that can be broken while it is in use.
type wire struct {
	conn redis.Conn

	mu     sync.Mutex // one at a time severs or closes
	closed bool
}

// sever breaks the connection, so that nobody is held up by reading from it or writing to it.
func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		sever(w.conn)
	}
}

// close gives the connection back to the pool. Nobody may use it afterwards. A sever that comes while
// the pool says goodbye to the master does not wait for that.
func (w *wire) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	discard(w.conn)
}

// giveUpLocked gives the connection up, and nothing more is read from it. Node.mu must be held.
func (l *link) giveUpLocked(err error) {
	l.dead = true
	l.failLocked(err)
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
	now := clock.Now()
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
