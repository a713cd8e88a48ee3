// Package multilock takes, renews and releases locks on N independent masters at once, and
// decides by majority: the Redlock algorithm. It serves package redlock: its API is not stable.
//
// What to do is decided in package protocol, by state machines without a clock. This package
// drives them: it owns their mutexes and timers, makes the owners and the commands, sends each
// command to all masters at once, feeds the answers back, keeps the queue of the callers of this
// client that wait for one name, and gathers the renewals that are due.
//
// # Concurrency
//
// All methods may be called from any goroutine. Answers and messages are counted where they are
// read. [New] starts one goroutine, which sends renewals; [Masters.Close] ends it. Whatever becomes
// of the caller, each operation is settled within about the node timeout, since each node
// answers each command by then.
//
// Mutexes are taken in this order: Hold.mu, Masters.mu, contest.mu, then those of owners,
// subscriptions and the watchdog. That of renewals comes before Hold.mu, that of a trace last.
//
// # Errors
//
// A lost vote is a [*MajorityError]. It matches [ErrTaken], [ErrNoQuorum] or
// [ErrLost], the context error of a wait that was cut short, and the reason of each
// master.
package multilock

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-multierror"

	"example.com/redlock/internal/tracer"
	"example.com/redlock/internal/witness"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
	"example.com/redlock/redlocktrace"
)

// Masters are the masters of one client, and the locks that it holds and waits for.
type Masters struct {
	nodes  []*node.Node
	conf   protocol.Config
	log    *slog.Logger
	owners owners
	subs   subscriptions
	slots  slots
	dog    *watchdog
	done   chan struct{} // closed by Close

	presence  presence
	directory directory

	keep time.Duration // see Keep

	timed atomic.Bool // see knowsTime
	lag   lag

	mu     sync.Mutex
	closed bool
	tries  sync.WaitGroup // operations under way; Add with mu held and closed unset
	names  map[target]*name
	held   int     // holds of all names
	parked int     // locks that are kept
	waits  int     // callers that wait for any
	free   []*name // to be reused

	trace    *tracer.Tracer   // nil: nothing is traced
	calls    sync.WaitGroup   // traced calls under way; Add with mu held and closed unset
	lastCall uint64           // of those that are traced
	witness  *witness.Witness // nil but in tests
}

// Max is the largest number of masters.
const Max = protocol.Max

// Set is a set of masters.
type Set = protocol.Set

// New makes the masters of a new client from their nodes, at least 1 and at most Max. trace, which
// may be nil, is the one that the nodes have. Close closes them all.
func New(nodes []*node.Node, log *slog.Logger, trace *tracer.Tracer) *Masters {
	m := &Masters{
		nodes:   nodes,
		conf:    protocol.Config{Masters: len(nodes), Times: protocol.Usual},
		log:     log,
		trace:   trace,
		witness: witness.New(),
		owners:  newOwners(),
		done:    make(chan struct{}),
		names:   make(map[target]*name),
	}
	if trace != nil {
		m.owners.client = trace.Client
	}
	m.slots.freed(rand.IntN(1 << 16)) // clients that begin together begin at different slots
	m.dog = newWatchdog(m)
	for i, n := range nodes {
		n.Observe(m, i)
	}
	return m
}

// Len returns the number of masters, N.
func (m *Masters) Len() int { return len(m.nodes) }

// All returns the set of all masters.
func (m *Masters) All() Set { return protocol.All(len(m.nodes)) }

// Activity implements [node.Observer]. What an owner may have at a master that has gone counts as waiting,
// until it was released.
func (m *Masters) Activity() node.Activity {
	m.mu.Lock()
	held := m.held + m.parked
	m.mu.Unlock()
	switch {
	case held > 0:
		return node.Holding
	case m.owners.any():
		return node.Waiting
	default:
		return node.Idle
	}
}

// begin counts an operation under way, which Close waits for, unless Close was called. tries.Done
// ends it.
func (m *Masters) begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.beginLocked()
}

func (m *Masters) beginLocked() bool {
	if m.closed {
		return false
	}
	m.tries.Add(1)
	return true
}

// Close gives back all holds, which end with ErrClosed, makes waiting callers return ErrClosed,
// waits for what is under way, and disconnects. It takes about two node timeouts at most.
//
// The error lists the holds that no majority confirmed to be free: they end with their leases. A
// second Close does nothing.
func (m *Masters) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	close(m.done)
	m.mu.Unlock()

	m.dog.close()
	m.tries.Wait() // from now on there are no new holds, and each try is rolled back

	returns := m.recallAll(m.All(), redlocktrace.WhyClosed)
	for _, h := range m.holds() {
		if r := h.end(ErrClosed); r != nil {
			returns = append(returns, r)
		}
		<-h.ended() // where somebody else ends it at this moment, its release must be sent
	}
	unconfirmed := &multierror.Error{ErrorFormat: closing}
	for _, r := range returns {
		if err := r.Wait(context.Background()); err != nil {
			unconfirmed = multierror.Append(unconfirmed, err)
		}
	}
	m.retract()
	var wg sync.WaitGroup
	for _, n := range m.nodes {
		wg.Go(n.Close) // which waits for what is under way
	}
	wg.Wait()
	m.calls.Wait()
	m.trace.Close()
	if m.witness != nil {
		m.witness.Close()
	}
	return unconfirmed.ErrorOrNil()
}

// holds returns the holds of the client.
func (m *Masters) holds() []*Hold {
	m.mu.Lock()
	defer m.mu.Unlock()
	var holds []*Hold
	for _, n := range m.names {
		holds = append(holds, n.holds...)
	}
	return holds
}

// wakeHolds ends the holds whose validity ended while the machine was suspended: their timers
// stood still. Those of the others are set anew.
func (m *Masters) wakeHolds() {
	for _, h := range m.holds() {
		h.expire()
	}
	m.recallAll(m.All(), redlocktrace.WhyDoubted)
}

// send sends cmd to the masters in at.
func (m *Masters) send(cmd *script.Command, at Set, to node.Receiver) {
	m.deliver(cmd, at, to, false)
}

// deliver sends cmd to the masters in at, or leaves it to Node.Flush if it is to be written with others.
// Those that are down come first: they answer at once that they got nothing, so that a vote which the
// others decide claims nothing there.
func (m *Masters) deliver(cmd *script.Command, at Set, to node.Receiver, gathered bool) {
	if m.witness != nil {
		to = m.witness.Sending(cmd, at, to)
	}
	var down Set
	for i, n := range m.nodes {
		if at.Has(i) && n.Down() {
			down |= 1 << i
			n.Send(cmd, to, i)
		}
	}
	for i, n := range m.nodes {
		switch {
		case !(at &^ down).Has(i):
		case gathered:
			n.Queue(cmd, to, i)
		default:
			n.Send(cmd, to, i)
		}
	}
}

// nobody takes the answers that nobody waits for.
type nobody struct{}

// Answer implements [node.Receiver].
func (nobody) Answer(int, script.Answer) {}

// receiver is a [node.Receiver] that is a function.
type receiver func(i int, a script.Answer)

// Answer implements [node.Receiver].
func (f receiver) Answer(i int, a script.Answer) { f(i, a) }

// majority reports whether k masters are one.
func (m *Masters) majority(k int) bool { return quorum.Vote(len(m.nodes), k, 0) == quorum.Won }
