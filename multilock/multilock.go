// Package multilock takes, renews and releases a lock on N independent masters at
// once, and decides by majority: the Redlock algorithm.
//
// Each operation sends one command to every master and is decided by the answer that
// settles the vote, without waiting for the rest. It returns a handle when the commands
// are on their way, so that a caller can hold its own lock while it sends, and wait
// without it. A [Bid] goes on until it has the lock: its place is in the queue that the
// masters keep, and releases pass the lock on.
//
// # Concurrency
//
// All methods may be called from any goroutine. No goroutine is started: answers and
// messages are counted where they are read. Whatever becomes of the caller, each operation is settled
// within about the node timeout, since each node answers each command by then.
//
// # Errors
//
// A lost vote is a [*MajorityError]. It matches [ErrTaken], [ErrNoQuorum] or
// [ErrLost], the context error of a wait that was cut short, and the reason of each
// master.
package multilock

import (
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Masters are the masters of one client.
type Masters struct {
	nodes []*node.Node
	id    string        // of the client: the first part of each owner
	seq   atomic.Uint64 // the second part, never used twice

	greeted atomic.Bool // a majority has told its time, or refused to

	mu        sync.Mutex
	owners    map[string]*Bid // those that may have a lock or get one; nil for a try that bids for nothing
	listening bool            // subscriptions were begun
	hears     Set             // where they work
}

// Max is the largest number of masters.
const Max = 64

// New makes the masters of a new client from their nodes, at least 1 and at most Max.
// Close closes them.
func New(nodes []*node.Node) *Masters {
	return &Masters{nodes: nodes, id: uuid.NewString(), owners: make(map[string]*Bid)}
}

// mark begins the second part of our owners. Redisson's have a number there.
const mark = "r"

// NewOwner returns an owner at key, "uuid:rN", that was never used before: a roll-back of
// an earlier try that is still under way must not free a later one.
func (m *Masters) NewOwner(key string) *script.Owner {
	var room [64]byte
	id := strconv.AppendUint(append(append(room[:0], m.id...), ":"+mark...), m.seq.Add(1), 10)
	return script.NewOwner(key, string(id))
}

// foreign reports whether owner is one of Redisson's, whose clients cannot pass a lock.
func foreign(owner string) bool {
	return !strings.HasPrefix(owner[strings.LastIndexByte(owner, ':')+1:], mark)
}

// Len returns the number of masters, N.
func (m *Masters) Len() int { return len(m.nodes) }

// Close waits for what is under way, about the node timeout at most, and disconnects.
func (m *Masters) Close() {
	done := make(chan struct{}, len(m.nodes))
	// Goroutines: one per node, each ends when its node has closed, and Close waits for
	// all of them.
	for _, n := range m.nodes {
		go func() {
			n.Close()
			done <- struct{}{}
		}()
	}
	for range m.nodes {
		<-done
	}
}

// Set is a set of masters, a bit for each.
type Set uint64

func (s Set) has(i int) bool { return s&(1<<i) != 0 }

func (s Set) len() int { return bits.OnesCount64(uint64(s)) }

// send sends cmd to the masters in at. Those that are down come first: they answer at once that
// they got nothing, so that a vote which the others decide claims nothing there.
func (m *Masters) send(cmd *script.Command, at Set, to node.Receiver) {
	var down Set
	for i, n := range m.nodes {
		if at.has(i) && n.Down() {
			down |= 1 << i
			n.Send(cmd, to, i)
		}
	}
	for i, n := range m.nodes {
		if (at &^ down).has(i) {
			n.Send(cmd, to, i)
		}
	}
}

// All returns the set of all masters.
func (m *Masters) All() Set { return 1<<len(m.nodes) - 1 }

func (m *Masters) majority() int { return quorum.Majority(len(m.nodes)) }

// nobody takes the answers that nobody waits for.
type nobody struct{}

func (nobody) Answer(int, script.Answer) {}

// deadline returns until when a hold is valid that was granted for lease by commands
// sent at start.
func deadline(start clock.Instant, lease time.Duration) clock.Instant {
	return start.Add(clock.Validity(lease, 0))
}
