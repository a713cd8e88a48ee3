// Package poll asks the N masters of a client, all at once, and counts what they answer: the votes, how many
// are up, what time it is by their clocks, and why there is no majority. It knows no locks. It serves packages
// multilock, clients and redlockadmin: its API is not stable.
//
// # Errors
//
// A lost vote is a [*MajorityError]. It matches [ErrTaken], [ErrNoQuorum] or
// [ErrLost], the context error of a wait that was cut short, and the reason of each
// master.
package poll

import (
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Max is the largest number of masters.
const Max = attempt.Max

// Set is a set of masters.
type Set = attempt.Set

// Masters are the masters of one client.
type Masters struct {
	ID     string // of the client, a uuid: the first part of each of its owners
	Nodes  []*node.Node
	Log    *slog.Logger
	HoldUp func(at Set) // may hold up who sends a command to those masters; nil but in tests

	timed atomic.Bool // see KnowsTime

	mu      sync.Mutex     // Shut comes before Begin, or after it
	closing chan struct{}  // closed by Shut
	ops     sync.WaitGroup // operations under way; Add with mu held and closing open
}

// New makes the masters of a new client, at least 1 and at most Max.
func New(nodes []*node.Node, log *slog.Logger) *Masters {
	return &Masters{ID: uuid.NewString(), Nodes: nodes, Log: log, closing: make(chan struct{})}
}

// Len returns the number of masters, N.
func (m *Masters) Len() int { return len(m.Nodes) }

// Set returns the set of all masters.
func (m *Masters) Set() Set { return attempt.All(len(m.Nodes)) }

// Majority reports whether k masters are one.
func (m *Masters) Majority(k int) bool { return quorum.Vote(len(m.Nodes), k, 0) == quorum.Won }

// Ours reports whether owner is one of this client.
func (m *Masters) Ours(owner string) bool {
	number, ok := strings.CutPrefix(owner, m.ID)
	return ok && strings.HasPrefix(number, ":")
}

// Begin counts an operation under way, which Settle waits for, unless Shut was called. End ends it.
func (m *Masters) Begin() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Closed() {
		return false
	}
	m.ops.Add(1)
	return true
}

// End ends what Begin began.
func (m *Masters) End() { m.ops.Done() }

// Shut lets no operation begin any more, and reports whether it is the first to do so.
func (m *Masters) Shut() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Closed() {
		return false
	}
	close(m.closing)
	return true
}

// Closing returns a channel that Shut closes.
func (m *Masters) Closing() <-chan struct{} { return m.closing }

// Closed reports whether Shut was called.
func (m *Masters) Closed() bool { return IsClosed(m.closing) }

// IsClosed reports whether c, which nothing is sent on, is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Settle waits for the operations under way.
func (m *Masters) Settle() { m.ops.Wait() }

// Disconnect closes the nodes, which wait for what is under way.
func (m *Masters) Disconnect() {
	var wg sync.WaitGroup
	for _, n := range m.Nodes {
		wg.Go(n.Close)
	}
	wg.Wait()
}

// Send sends cmd to the masters in at.
func (m *Masters) Send(cmd *script.Command, at Set, to node.Receiver) {
	m.Deliver(cmd, at, to, false)
}

// Deliver sends cmd to the masters in at, or leaves it to Node.Flush if it is to be written with others.
// Those that are down come first: they answer at once that they got nothing, so that a vote which the
// others decide claims nothing there.
func (m *Masters) Deliver(cmd *script.Command, at Set, to node.Receiver, gathered bool) {
	if m.HoldUp != nil {
		m.HoldUp(at)
	}
	var down Set
	for i, n := range m.Nodes {
		if at.Has(i) && n.Down() {
			down |= 1 << i
			n.Send(cmd, to)
		}
	}
	for i, n := range m.Nodes {
		switch {
		case !(at &^ down).Has(i):
		case gathered:
			n.Queue(cmd, to)
		default:
			n.Send(cmd, to)
		}
	}
}

// Receiver is a [node.Receiver] that is a function.
type Receiver func(i int, a script.Answer)

// Answer implements [node.Receiver].
func (f Receiver) Answer(i int, a script.Answer) { f(i, a) }

// Nobody takes the answers that nobody waits for.
var Nobody = Receiver(func(int, script.Answer) {})
