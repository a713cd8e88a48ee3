package node

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// Config says how to reach one master.
type Config struct {
	Name string      // in errors and logs
	Pool *redis.Pool // gives the one connection that the node holds

	// Timeout bounds the answer to one command. A connection that answers nothing for
	// so long is given up.
	Timeout time.Duration

	// Guard is how long the process of a master must have lived before it grants holds:
	// the longest lease in use, with drift. Zero: no guard.
	Guard time.Duration

	// MaxLease is the longest lease that this node asks for: after that, with drift, a
	// release that did not reach the master is settled by expiry. Zero: it is owed until
	// the master answers it.
	MaxLease time.Duration

	// Registry finds the same server under two names. Nodes of one client share it.
	Registry *Registry

	Logger *slog.Logger
}

// Intervals of the background work. They bound how long a master that returned goes
// unnoticed, and how long an idle connection that broke does, and a clock that jumped.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = 500 * time.Millisecond
	heartbeat  = time.Second
)

// state is where a node stands with its master.
type state uint8

const (
	connecting state = iota // commands queue, for Config.Timeout at most
	up                      // commands are written
	down                    // commands are answered at once
)

// Node is one master. Make it with New.
type Node struct {
	cfg    Config
	ctx    context.Context // ends when the node closes: the dialer's
	cancel context.CancelFunc
	wake   chan struct{} // tells the writer that there is something to do
	gone   chan struct{} // closed when the keeper has ended

	mu      sync.Mutex
	state   state
	reason  error   // why it is not up
	closing bool    // no more commands
	queue   []*call // not written yet
	free    []*call // to be used again
	owed    debts
	link    *link         // nil while there is none
	last    past          // the process and connection before
	replica string        // run id of a process that was a replica when last seen
	pace    pace          // of the clock of the process that was last connected to
	sub     *subscription // nil until Subscribe
	calls   uint64        // made so far

	watchers []chan<- struct{} // of Notify

	shown atomic.Pointer[shown] // what its clock showed last, nil until it told
	trip  atomic.Int64          // bound on a round trip, 0 while there is no connection
	away  atomic.Bool           // state is down
}

// call is one command on its way.
type call struct {
	cmd *script.Command
	to  Receiver // nil: nobody waits
	i   int

	number   uint64 // of all calls of the node, in their order
	sent     time.Time
	looked   clock.Instant   // of an AskTime: when it was sent
	source   bool            // goes out as EVAL, with the script's source
	behind   bool            // was sent again behind a call that carries the source
	whole    *script.Command // of a Renew that has lost holds since: what it was
	timid    bool            // goes to a guarded master, which must make no hold
	answered bool            // to.Answer was or is about to be called
}

// New starts to connect to a master, in the background.
func New(cfg Config) *Node {
	ctx, cancel := context.WithCancel(context.Background())
	n := &Node{
		cfg:    cfg,
		ctx:    ctx,
		cancel: cancel,
		wake:   make(chan struct{}, 1),
		gone:   make(chan struct{}),
		reason: errConnecting,
	}
	// Goroutines: the keeper, which Close waits for.
	go n.keep()
	return n
}

// Name returns the name the master goes by.
func (n *Node) Name() string { return n.cfg.Name }

// Send sends cmd, and passes the answer to to.Answer(i, …) exactly once.
//
// Send does not block. While the master is down the answer is Unsent, at once; a release
// is owed all the same: it is sent when the master is back, unless Config.MaxLease has
// settled it before.
func (n *Node) Send(cmd *script.Command, to Receiver, i int) {
	n.mu.Lock()
	c := n.call(cmd, to, i)
	if n.closing || n.state == down {
		err := n.reason
		if n.closing {
			err = ErrClosed
		} else if cmd.Repeats() {
			n.owed.add(c)
		}
		n.drop(c)
		n.mu.Unlock()
		to.Answer(i, script.Answer{Outcome: script.Unsent, Err: err})
		return
	}
	if n.direct() {
		n.launch(c)
		return
	}
	n.queue = append(n.queue, c)
	n.mu.Unlock()
	n.nudge()
}

// maxFree bounds the calls that are kept to be used again.
const maxFree = 1024

// call makes a call. n.mu is held.
func (n *Node) call(cmd *script.Command, to Receiver, i int) *call {
	var c *call
	if last := len(n.free) - 1; last >= 0 {
		c, n.free = n.free[last], n.free[:last]
	} else {
		c = new(call)
	}
	n.calls++
	c.cmd, c.to, c.i, c.number = cmd, to, i, n.calls
	return c
}

// drop is the end of a call that is in no list any more. n.mu is held.
func (n *Node) drop(c *call) {
	if len(n.free) < maxFree {
		*c = call{} // it may lie there for long
		n.free = append(n.free, c)
	}
}

// Down reports whether commands are Unsent, at once.
func (n *Node) Down() bool { return n.away.Load() }

// Guard returns how long the master goes on to grant no holds, zero when it does grant
// them or cannot be reached.
func (n *Node) Guard() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link == nil {
		return 0
	}
	return max(0, n.link.guard())
}

// Close writes what is queued, waits for what is under way, up to Config.Timeout, and
// closes the connection. Sends are Unsent from now on. What waits for a
// connection is given up to Config.Timeout as well, unless the master is down.
func (n *Node) Close() {
	n.mu.Lock()
	n.closing = true
	sub := n.sub
	if n.state == down || n.state == connecting && len(n.queue)+n.owed.len() == 0 {
		n.cancel()
	}
	n.mu.Unlock()
	n.nudge()
	<-n.gone
	n.cancel()
	if sub != nil {
		<-sub.gone
	}
	n.cfg.Registry.leave(n)
}

func (n *Node) nudge() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// keep holds a connection to the master for as long as the node is open.
func (n *Node) keep() {
	defer close(n.gone)
	retry := firstRetry
	for {
		// Commands may wait for a connection, but not longer than for an answer.
		// A node that is down has none waiting, and keeps the reason that it has.
		patience := time.AfterFunc(n.cfg.Timeout, func() {
			if !n.Down() {
				n.giveUp(ErrTimeout)
			}
		})
		l, err := n.connect()
		since := time.Now()
		if err == nil {
			err = n.serve(l)
		}
		patience.Stop()
		if n.ctx.Err() != nil || err == nil {
			n.giveUp(ErrClosed)
			return
		}
		// A master that was fit for a while gets another chance at once: it may only
		// have restarted.
		if l != nil && time.Since(since) > heartbeat {
			retry = firstRetry
			continue
		}
		n.giveUp(err)
		select {
		case <-time.After(retry/2 + rand.N(retry)):
		case <-n.ctx.Done():
			n.giveUp(ErrClosed) // and the pool, which may be closed by now, is left alone
			return
		}
		retry = min(2*retry, lastRetry)
	}
}

// giveUp answers everything that waits for a connection, unless there is one.
func (n *Node) giveUp(err error) {
	n.mu.Lock()
	if n.state == up {
		n.mu.Unlock()
		return
	}
	n.report(err)
	n.state, n.reason = down, err
	n.away.Store(true)
	n.changed()
	if n.closing {
		n.cancel()
	}
	n.owed.expire(n.cfg.MaxLease)
	due := n.abandon(nil, n.queue, script.Answer{Outcome: script.Unsent, Err: err})
	n.queue = nil
	n.mu.Unlock()
	deliver(due)
}

// report logs that the master is down, or there and refused, and why. That it is down is said
// once, whatever becomes of the reason. n.mu is held.
func (n *Node) report(err error) {
	refused := refusal(err)
	switch {
	case n.closing:
	case n.state == down && !refused && !refusal(n.reason):
	case n.state == down && Kind(err) == Kind(n.reason):
	case refused:
		n.cfg.Logger.Warn("redlock: master is refused", "master", n.cfg.Name, "error", err)
	default:
		n.cfg.Logger.Warn("redlock: master is down", "master", n.cfg.Name, "error", err)
	}
}

// serve uses a connection until it breaks or, with a nil error, the node closes.
func (n *Node) serve(l *link) error {
	read := make(chan struct{})
	// Goroutines: the reader. It ends when the connection fails or is severed, or with the
	// last answer after the writer is done; serve waits for it.
	go func() {
		defer close(read)
		n.read(l)
	}()
	n.write(l)
	n.mu.Lock()
	answered := l.flight.len() == 0
	n.mu.Unlock()
	if answered {
		l.sever() // the reader waits for nothing
	}
	<-read
	l.end()

	n.mu.Lock()
	n.link = nil
	n.trip.Store(0)
	if n.state == up {
		n.state, n.reason = connecting, l.err
	}
	if n.closing {
		n.cancel() // there is no next connection
	}
	n.last = past{id: l.id, client: l.client, fit: l.fit, end: clock.Now()}
	l.sweep.Stop()
	lost := l.flight.drain()
	n.owed.haunt(lost)
	for _, d := range l.owed {
		n.owed.put(d)
	}
	due := n.abandon(nil, lost, script.Answer{Outcome: script.Unknown, Err: l.err})
	due = n.abandon(due, l.again, script.Answer{Outcome: script.Unsent, Err: l.err})
	n.mu.Unlock()
	deliver(due)
	return l.err
}

// abandon is the end of calls that the master has not answered: it appends a for each to
// due, and keeps the releases among them. n.mu is held.
func (n *Node) abandon(due []delivery, calls []*call, a script.Answer) []delivery {
	for _, c := range calls {
		if c.cmd.Repeats() {
			n.owed.add(c)
		}
		due = c.settle(due, a)
		n.drop(c)
	}
	return due
}

// delivery is an answer that is passed on once no lock is held.
type delivery struct {
	to     Receiver
	i      int
	answer script.Answer
}

// settle marks c as answered and appends the answer to due, if it is the first one.
func (c *call) settle(due []delivery, a script.Answer) []delivery {
	if c.answered || c.to == nil {
		return due
	}
	c.answered = true
	return append(due, delivery{c.to, c.i, a})
}

func deliver(due []delivery) {
	for _, d := range due {
		d.to.Answer(d.i, d.answer)
	}
}
