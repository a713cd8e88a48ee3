// Package multilock takes, renews and releases locks on N independent masters at once, and
// decides by majority: the Redlock algorithm. It serves package redlock: its API is not stable.
//
// What to do is decided in package attempt, by a state machine without a clock. This package
// drives it: each lock that is wanted, held or kept is a driver, which owns the mutex and the timer, makes the owners and
// the commands, sends each command to all masters at once, and feeds the answers back. A line is the callers of
// this client that wait for one name, and the watchdog gathers the renewals that are due.
//
// # Concurrency
//
// All methods may be called from any goroutine. Answers and messages are counted where they are
// read. [New] starts one goroutine, which sends renewals; [Masters.Close] ends it. Whatever becomes
// of the caller, each operation is settled within about the node timeout, since each node
// answers each command by then.
//
// Mutexes are taken in this order: that of a driver, and of one at a time; Masters.mu; then those of owners,
// subscriptions, the watchdog, and those of package poll; that of a trace last.
//
// # Errors
//
// They are those of package poll.
package multilock

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"

	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
)

// Masters are the masters of one client, and the locks that it holds and waits for.
type Masters struct {
	All     *poll.Masters      // asked at once
	Clients *clients.Directory // who else uses them

	conf     attempt.Config
	owners   owners
	subs     subscriptions
	nextSlot nextSlot
	watchdog *watchdog
	lag      lag

	mu     sync.Mutex
	names  map[string]*name // by key; a semaphore by script.Slots
	held   int              // holds of all names
	parked int              // locks that are kept
	waits  int              // callers that wait for any
	free   []*name          // to be reused

	ungranted outage[string] // names that callers wait for, and no quorum can grant
	unrenewed outage[*Hold]  // holds whose last renewal found no quorum
	losses    losses

	trace    *tracer.Tracer // nil: nothing is traced
	calls    sync.WaitGroup // traced calls under way; Add with mu held before Shut
	lastCall uint64         // of those that are traced
}

// Set is a set of masters.
type Set = attempt.Set

// New makes the masters of a new client from their nodes, at least 1 and at most poll.Max. trace, which
// may be nil, is the one that the nodes have. Close closes them all.
func New(nodes []*node.Node, log *slog.Logger, trace *tracer.Tracer) *Masters {
	all := poll.New(nodes, log)
	m := &Masters{All: all, conf: attempt.Config{Masters: len(nodes), Times: attempt.Usual}, trace: trace, names: make(map[string]*name)}
	if trace != nil {
		all.ID = trace.Client
	}
	m.Clients = clients.New(all, m, trace)
	m.owners.client, m.owners.known = all.ID, make(map[string]*driver)
	m.nextSlot.other = rand.IntN(1 << 16) // clients that begin together begin at different slots
	m.watchdog = newWatchdog(m)
	for _, n := range nodes {
		n.Observe(m)
	}
	return m
}

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

// closeAtOnce is how many releases Close has under way at a time, as a node does at first: so none of them waits for
// others until the node timeout has passed, however many there are. Masters that do not answer are found to be down
// by the first of them.
const closeAtOnce = 128

// Close gives back all holds, which end with ErrClosed, makes waiting callers return ErrClosed,
// waits for what is under way, and disconnects. It takes about two node timeouts at most, besides what masters
// that answer need for the releases.
//
// The error has all holds that no majority confirmed to be free, and names a few: they end with their leases. A
// second Close does nothing.
func (m *Masters) Close() error {
	m.mu.Lock()
	first := m.All.Shut()
	m.mu.Unlock()
	if !first {
		return nil
	}
	m.watchdog.close()
	m.All.Settle() // from now on there are no new holds, and each try is rolled back

	var releases []*round
	all := m.owners.all()
	for _, d := range all {
		d.mu.Lock()
		r := d.advanceLocked(&attempt.Event{Kind: attempt.End}, nil, poll.ErrClosed)
		if r != nil {
			r.settledLocked() // so that it has a channel
			releases = append(releases, r)
		}
		d.mu.Unlock()
		d.flush()
		if n := len(releases) - 1 - closeAtOnce; r != nil && n >= 0 {
			<-releases[n].done
		}
	}
	for _, d := range all {
		d.drain() // where somebody else ends a hold at this moment, its release must be sent
	}
	unconfirmed := &multierror.Error{ErrorFormat: closing}
	for _, r := range releases {
		<-r.done
		r.d.mu.Lock()
		if err := r.releasedLocked(nil); err != nil {
			unconfirmed = multierror.Append(unconfirmed, err)
		}
		r.d.mu.Unlock()
	}
	m.reportLosses(0)
	m.Clients.Retract()
	m.All.Disconnect()
	m.calls.Wait()
	m.trace.Close()
	return unconfirmed.ErrorOrNil()
}

// wakeHolds ends the holds whose validity ended while the machine was suspended: their timers
// stood still. Those of the others are set anew.
func (m *Masters) wakeHolds() {
	for _, d := range m.owners.all() {
		d.wake()
	}
	m.recall()
}

// Doubted implements [node.Observer]. A hold that master i may have voted for is renewed at once, and is lost if a majority
// does not have it.
func (m *Masters) Doubted(i int) {
	if !m.All.Begin() {
		return // Close gives all of it back
	}
	defer m.All.End()
	for _, d := range m.owners.all() {
		d.step(&attempt.Event{Kind: attempt.Doubt, Master: i})
	}
}

// Busy implements [clients.Own].
func (m *Masters) Busy() (holds, waits int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held, m.waits
}

// Since implements [clients.Own].
func (m *Masters) Since(key, owner string) time.Time {
	if h := m.latest(key); h != nil && h.Owner() == owner {
		return time.UnixMicro(h.Token())
	}
	return time.Time{}
}

// maxNamed is how many of the holds that Close could not give back its error names.
const maxNamed = 5

// closing is the text of what Close could not give back.
func closing(errs []error) string {
	var texts []string
	for _, err := range errs[:min(len(errs), maxNamed)] {
		text := poll.Bare(err)
		// The release goes on no longer.
		if why, ok := errors.AsType[*poll.MajorityError](err); ok && !why.Lost() {
			text = fmt.Sprintf("%q may stay locked until its lease ends (%d of %d masters confirmed, %d needed): %v",
				why.Name, why.Got, why.Of, why.Need, why.Nodes)
		}
		texts = append(texts, text)
	}
	if more := len(errs) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return "redlock: close: " + strings.Join(texts, "; ")
}
