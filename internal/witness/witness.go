// Package witness checks the driver of the protocol's machine while it runs: package multilock. It has a
// machine of its own for each attempt, passes each event to that as well, and compares it with what the
// driver does:
//
//   - The driver's machine is in the same state, and wants the same: nothing but Step changes it, and its
//     instants never go back.
//   - Each effect becomes the command that it stands for, with its round, its lease and its number, to just its
//     masters, in its order; and nothing else is asked for that owner.
//   - Each answer, and each message, is passed to the machine of its owner, as that of its master and of its
//     round, once; and no event is passed that nothing stands behind.
//
// Such a mistake breaks a promise only if answers come in the one order that makes it matter. The witness sees
// it in any run. Raft's authors replay traces of etcd in their TLA+ model for the same reason; here the
// model is the code, so it runs beside it.
//
// Of a renewal it sees that it is sent, and not what becomes of the answers.
//
// # Concurrency
//
// Its methods are called with the mutexes of the driver held, and take one of their own.
package witness

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
)

// Found is told what a driver did that its machines did not ask for. Tests set it before they make clients; nil:
// nobody watches.
var Found func(what string)

var seen atomic.Int64

// Seen returns how many events, commands and answers all witnesses have seen.
func Seen() int64 { return seen.Load() }

// Witness watches one client.
type Witness struct {
	mu       sync.Mutex
	machines map[*attempt.Attempt]*machine // that are not over, or want something
	owners   map[string]*try               // theirs
}

// New returns a Witness, nil if nobody watches.
func New() *Witness {
	if Found == nil {
		return nil
	}
	return &Witness{machines: make(map[*attempt.Attempt]*machine), owners: make(map[string]*try)}
}

// machine is an attempt as it should be.
type machine struct {
	state attempt.Attempt
	of    *attempt.Attempt // the driver's
	now   clock.Instant    // of its last step
	since int64            // its stamp, once it was sent; 0
	wants []want           // in the order of the effects
	told  []attempt.Event  // that are on their way to it
	tries []string         // its owners
	joins int64            // the token that its hold is to have, of two that become one
}

// become makes the machine what c is.
func (m *machine) become(c *attempt.Attempt) {
	m.state = *c
	m.state.Entries, m.state.Masters, m.state.Rounds = slices.Clone(c.Entries), slices.Clone(c.Masters), slices.Clone(c.Rounds)
}

// over reports whether nothing follows any more.
func over(c *attempt.Attempt) bool { return c.State == attempt.Ended }

// try is a try of a machine, which has an owner.
type try struct {
	*machine
	n       uint32
	counted bool // from is known
	from    int64
}

// Changed says that the driver has changed c otherwise than by a step.
func (w *Witness) Changed(c *attempt.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machines[c]; m != nil {
		m.become(c)
	}
}

// Joins says that the driver makes one hold of two, of which c is one, with that token: it has the masters raise their
// counters to it.
func (w *Witness) Joins(c *attempt.Attempt, token int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.machines[c]; m != nil {
		m.joins = token
	}
}

// Owner says that the next try of an attempt has that owner.
func (w *Witness) Owner(c *attempt.Attempt, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machineLocked(c)
	m.tries = append(m.tries, id)
	w.owners[id] = &try{machine: m, n: uint32(len(m.tries))}
}

func (w *Witness) machineLocked(c *attempt.Attempt) *machine {
	m := w.machines[c]
	if m == nil {
		m = &machine{state: attempt.Attempt{Want: c.Want, Masters: make([]attempt.Master, len(c.Masters)), Rounds: make([]attempt.Round, 2)}, of: c}
		w.machines[c] = m
	}
	return m
}

// Stepped says that the driver has passed ev to c, and that out follows.
func (w *Witness) Stepped(c *attempt.Attempt, conf *attempt.Config, now clock.Instant, ev *attempt.Event, out *attempt.Effects) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.machines[c] == nil && over(c) {
		return // nothing follows any more
	}
	seen.Add(1)
	m := w.machineLocked(c)
	if m.state.Try > 0 && now.Sub(m.now) < 0 {
		m.found("its time goes back by %v", m.now.Sub(now))
	}
	m.listen(ev)
	var own attempt.Effects
	before := m.state.Try
	m.now = now
	m.state.Step(conf, now, ev, &own)
	if own != *out || !reflect.DeepEqual(&m.state, c) {
		m.found("after %+v it is %+v and wants %+v, not %+v and %+v", *ev, m.state, own, *c, *out)
		m.become(c)
	}
	m.want(before, ev, out)
	w.tidyLocked(m)
}

// tidyLocked forgets a machine that is over and wants nothing any more.
func (w *Witness) tidyLocked(m *machine) {
	if over(&m.state) && len(m.wants) == 0 {
		delete(w.machines, m.of)
		for _, id := range m.tries {
			delete(w.owners, id)
		}
	}
}

// Close says that the client is closed: what its machines wanted must have been sent.
func (w *Witness) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.machines {
		for _, want := range m.wants {
			m.found("%+v was not sent", want)
		}
	}
}

func (m *machine) found(format string, args ...any) {
	Found(fmt.Sprintf("try %d of %v: ", m.state.Try, m.tries) + fmt.Sprintf(format, args...))
}
