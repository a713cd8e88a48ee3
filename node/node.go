package node

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/fifo"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// Config says how to reach one master.
type Config struct {
	Index  int           // among the masters of the client; it comes with each answer and event
	Name   string        // in errors and logs
	Pool   *redis.Pool   // provides the node's connections
	Prefix script.Prefix // that names have at the master, and not here

	// Timeout bounds the answer to one command. A master that answers nothing for that long is
	// down, and its connection is given up when an answer takes four times that.
	Timeout time.Duration

	// Guard is how old the master's process must be before it grants holds: the longest
	// lease in use. The node adds drift. Zero: no guard.
	Guard time.Duration

	// MaxLease is the longest lease this node asks for. A release that did not reach the
	// master is dropped after that, with drift, since the hold has expired by then. Zero: it
	// is kept until the master acknowledges it.
	MaxLease time.Duration

	// Lease is how long most holds last unless they are renewed. An idle client looks at the
	// master's clock at least as often. Zero: no holds are short.
	Lease time.Duration

	// Registry finds the same server under two names. The nodes of one client share it. Nil: one of its own.
	Registry *Registry

	Logger *slog.Logger // told with mutexes held, so its handler must not block, or call the node

	// Trace is told what becomes of the master. Nil: nobody is.
	Trace *tracer.Tracer
}

var (
	ErrClosed     = errors.New("closed")
	errConnecting = errors.New("not connected yet")
)

// state is where a node stands with its master.
type state uint8

const (
	connecting state = iota // commands are queued, for at most Config.Timeout
	up                      // commands are written
	down                    // commands are answered Unsent, at once
)

// Node is one master. Make it with New.
type Node struct {
	cfg     Config
	server  *server.Server
	ctx     context.Context // ends when the node closes
	cancel  context.CancelFunc
	wake    chan struct{}  // tells the writer that there is something to do
	running sync.WaitGroup // keepConnected and keepSubscribed

	mu           sync.Mutex
	state        state
	reason       error            // why it is not up
	closing      bool             // Close was called: no more commands
	queue        fifo.Queue[call] // not written yet
	pace         pace
	calls        uint64 // made so far
	unacked      unackedReleases
	link         *link              // nil while there is none
	previous     peer               // of the connection before
	replicaRun   string             // run id of a process that was a replica when last seen
	clockCheck   clockCheck         // of the process last connected to
	subscription *subscription      // nil until Subscribe
	observer     Observer           // nil until Observe
	forgot       bool               // the observer is to be told so once the master is up
	compose      func(i int) []Note // see Present, nil until then
	notified     []chan<- struct{}  // by Notify

	lastTime  atomic.Pointer[server.Sample] // what the master's clock last showed, nil until it told
	roundTrip atomic.Int64                  // bound on a round trip, 0 without a connection
	ending    [2]time.Time                  // when the certificates end that were warned of; keepConnected's own
}

// New starts to connect to a master, in the background.
func New(cfg Config) *Node {
	cfg.Registry = cmp.Or(cfg.Registry, new(Registry))
	ctx, cancel := context.WithCancelCause(context.Background())
	n := &Node{
		cfg:    cfg,
		server: &server.Server{Name: cfg.Name, Pool: cfg.Pool, Timeout: cfg.Timeout},
		ctx:    ctx,
		cancel: func() { cancel(ErrClosed) },
		wake:   make(chan struct{}, 1),
		reason: errConnecting,
	}
	n.pace.rested()
	// Goroutines: one, which Close waits for.
	n.running.Go(n.keepConnected)
	return n
}

// Name returns the name of the master in errors and logs.
func (n *Node) Name() string { return n.cfg.Name }

// Prefix returns what names begin with at the master. Callers that search its keys need it, since commands that run no
// script, such as a Scan, are sent as they are.
func (n *Node) Prefix() script.Prefix { return n.cfg.Prefix }

// Receiver takes the answers to the commands of a fan-out.
type Receiver interface {
	// Answer is called exactly once for each Send, with Config.Index: within about Config.Timeout, or twice that
	// where the master is slow or the connection breaks. It may be called before Send returns, and
	// must not block.
	Answer(i int, a script.Answer)
}

// Send sends cmd, and calls to.Answer exactly once with the answer.
//
// Send does not block. The answer is Unsent, at once, while the master is down, and while more waits for it than it
// answers in time. Even then a release is kept, and sent when the master is back, unless Config.MaxLease has passed by
// then.
func (n *Node) Send(cmd *script.Command, to Receiver) {
	n.Queue(cmd, to)
	n.Flush()
}

// Queue is Send without the write, for commands that others follow at once: Flush writes all of them together.
func (n *Node) Queue(cmd *script.Command, to Receiver) {
	n.mu.Lock()
	why := n.queueLocked(cmd, to)
	n.mu.Unlock()
	if why != nil {
		to.Answer(n.cfg.Index, script.Answer{Outcome: script.Unsent, Err: why})
	}
}

// Flush makes the node write what is queued.
func (n *Node) Flush() { wake(n.wake) }

// queueLocked queues cmd, or returns why the master gets none.
func (n *Node) queueLocked(cmd *script.Command, to Receiver) (why error) {
	waiting := n.queue.Len()
	switch {
	case n.closing:
		return ErrClosed
	case n.state == down && cmd.Repeats():
		c := n.newCallLocked(cmd, to)
		n.unacked.add(&c)
		return n.reason
	case n.state == down:
		return n.reason
	case waiting >= n.pace.room && cmd.Grants(), waiting >= mostRoom && !cmd.Repeats():
		return server.ErrBehind
	}
	c := n.newCallLocked(cmd, to)
	c.sent = clock.Now()
	n.queue.Push(c)
	return nil
}

// Down reports whether the master is down, so that commands are answered Unsent at once.
func (n *Node) Down() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state == down
}

// GuardOf returns for how long the master would grant no holds yet to a client with that guard. It is zero if the
// master grants them, and if that is not known, since the master cannot be reached, or this client has no guard.
func (n *Node) GuardOf(guard time.Duration) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, err := n.workingLocked()
	if err != nil || guard <= 0 || n.cfg.Guard <= 0 {
		return 0
	}
	return max(0, l.guardLeft()+server.WholeGuard(guard)-server.WholeGuard(n.cfg.Guard))
}

// Close writes what is queued, waits up to Config.Timeout for the answers, and closes the
// connection. From now on the answer to each Send is Unsent. If there is no connection, Close
// gives it up to Config.Timeout to be made, unless the master is down. It does not wait for functions of
// the pool that do not heed their context.
func (n *Node) Close() {
	n.mu.Lock()
	n.closing = true
	patience := n.cfg.Timeout
	switch {
	case n.link != nil && n.link.silent(clock.Now()) < n.cfg.Timeout:
	case n.state == down || n.queue.Len()+n.unacked.len() == 0:
		n.cancel()
	default:
		patience *= 2
	}
	n.mu.Unlock()
	n.Flush()
	deadline := time.AfterFunc(patience, n.cancel)
	n.running.Wait()
	deadline.Stop()
	n.cfg.Registry.remove(n)
}

// Error wraps err in a [*server.Error] that names the master.
func (n *Node) Error(err error) error { return &server.Error{Node: n.cfg.Name, Err: err} }

// wake sends on c, unless nobody has taken what was sent last.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// pause waits for d, or until the node closes.
func (n *Node) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-n.ctx.Done():
	}
}
