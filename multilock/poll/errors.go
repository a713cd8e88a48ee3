package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"example.com/redlock/multilock/terms"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/quorum"
)

// The states in which a vote can be lost.
var (
	ErrTaken      = errors.New("redlock: taken by another owner")
	ErrNoQuorum   = errors.New("redlock: no quorum")
	ErrLost       = errors.New("redlock: hold lost")
	ErrNotHeld    = errors.New("redlock: not held")
	ErrNotAwaited = errors.New("redlock: the release was sent, and its confirmation is not waited for")
	ErrClosed     = errors.New("redlock: client closed")
	ErrHeld       = errors.New("redlock: you hold it, and would wait for yourself: use Hold.Enter, or WithOwner before the first Lock")

	// ErrUpgrade is an ErrHeld of readers.
	ErrUpgrade = Case(ErrHeld, "redlock: you hold it for reading, and cannot lock it for writing before you unlock it")

	// ErrGuarded is an ErrNoQuorum that only needs time.
	ErrGuarded = Case(ErrNoQuorum, "redlock: masters restarted lately and grant nothing yet")
)

// ErrPending is what is said of a master that has not answered.
var ErrPending = errors.New("no answer yet")

// state is a case of another state, with words of its own.
type state struct {
	text string
	of   error
}

// Case returns an error that is a case of the state of, with words of its own.
func Case(of error, text string) error { return &state{text, of} }

func (s *state) Error() string { return s.text }

// Is lets errors.Is find the other state.
func (s *state) Is(target error) bool { return target == s.of }

// MajorityError says that an operation found no majority of the masters, and why not.
//
// errors.Is finds the state (ErrTaken, ErrNoQuorum, …), the context error if a wait was
// cut short, and what each master said.
type MajorityError struct {
	Op            string            // "lock", "acquire" (a permit), "enter", "unlock", "extend", "renew", "inspect", "force unlock", "force release slot 3 of" or "ready"
	Name          string            // of the lock or semaphore, empty for "ready"
	Got, Need, Of int               // masters that said yes, that were needed, that there are
	Guard         time.Duration     // of ErrGuarded: how long until a majority grants; otherwise 0
	Nodes         *multierror.Error // one entry for each master that said something else than yes, naming it; never nil

	// Hopeless: waiting does not help, since so many masters reported errors that do not heal by themselves that no majority
	// is left.
	Hopeless bool

	// Of ErrTaken: who has the lock, as a majority of the masters says.
	Holder    string            // its owner, "uuid:rN", or "shared": readers; empty if no majority names one, and of a semaphore
	Client    *terms.ClientInfo // whose owner that is; nil if it has no record, or is not known
	For       time.Duration     // how long it has had the lock; 0 if that is not known
	FreeAfter time.Duration     // until a majority is free, unless the holder renews; -1 if too few said anything
	Split     bool              // enough answered, and no majority named one holder: the votes of a free lock may be split

	states []error
	ours   bool // Holder is an owner of this client
}

func (e *MajorityError) Error() string {
	var b strings.Builder
	b.WriteString(subject(e.Op, e.Name))
	for _, s := range e.states {
		b.WriteString(": " + Bare(s))
		if s == ErrTaken && (e.ours || e.Client != nil) {
			b.WriteString(": held by " + e.heldBy())
		}
	}
	if e.Guard > 0 {
		fmt.Fprintf(&b, ", a majority does in %v", e.Guard.Round(time.Millisecond))
	}
	fmt.Fprintf(&b, " (%d of %d masters, %d needed)", e.Got, e.Of, e.Need)
	if len(e.Nodes.Errors) > 0 {
		b.WriteString(": " + e.Nodes.Error())
	}
	return b.String()
}

// heldBy says who has the lock, and for how long.
func (e *MajorityError) heldBy() string {
	by := "another caller of this client"
	if !e.ours {
		by = e.Client.String()
	}
	if e.For == 0 {
		return by
	}
	unit := time.Millisecond
	if e.For >= time.Second {
		unit = time.Second
	}
	return fmt.Sprintf("%v for %v", by, e.For.Round(unit))
}

// subject is how an error begins.
func subject(op, name string) string {
	if name == "" {
		return prefix + "not " + op
	}
	return fmt.Sprintf(prefix+"%s %q", op, name)
}

// Bare returns err's text as a part of a longer one, which begins with the name of the library itself.
func Bare(err error) string { return strings.TrimPrefix(err.Error(), prefix) }

// prefix is what the text of an error begins with that users see.
const prefix = "redlock: "

// chain is several errors, one after the other.
type chain struct{ errs []error }

// Fail returns the error of an operation that failed without a vote, for causes.
func Fail(op, name string, causes ...error) error {
	return &chain{append([]error{errors.New(subject(op, name))}, causes...)}
}

func (c *chain) Error() string {
	texts := []string{c.errs[0].Error()}
	for _, err := range c.errs[1:] {
		texts = append(texts, Bare(err))
	}
	return strings.Join(texts, ": ")
}

func (c *chain) Unwrap() []error { return c.errs }

// Unwrap returns the states and the error of each master.
func (e *MajorityError) Unwrap() []error {
	return append(append([]error(nil), e.states...), e.Nodes)
}

// Reasons returns what is wrong with the masters, see [server.Kind]. That another owner has the lock
// is nothing wrong.
func (e *MajorityError) Reasons() []string {
	var reasons []string
	for _, err := range e.Nodes.Errors {
		if _, taken := errors.AsType[*script.TakenError](err); !taken {
			reasons = append(reasons, server.Kind(err))
		}
	}
	return reasons
}

// Lost reports whether it says that the hold was lost. errors.Is may find ErrLost as well where a
// wait was cut short because another hold was.
func (e *MajorityError) Lost() bool { return slices.Contains(e.states, ErrLost) }

// With returns e with one more state, before the others.
func (e *MajorityError) With(state error) *MajorityError {
	c := *e
	c.states = append([]error{state}, e.states...)
	return &c
}

// Lost makes the error of a vote that was lost. late is what to say of the masters that said yes, nil
// if they need no entry. cut is the context error of a wait that was cut short, nil if it was
// not.
func (m *Masters) Lost(op, name string, b *Ballot, state, cut, late error) *MajorityError {
	e := &MajorityError{
		Op: op, Name: name, Need: quorum.Majority(len(m.Nodes)), Of: len(m.Nodes),
		Nodes: &multierror.Error{ErrorFormat: oneLine}, Hopeless: b.hopeless(), FreeAfter: -1,
	}
	var left, grants []time.Duration
	for i, n := range m.Nodes {
		a := b.At(i)
		err := a.Why()
		switch {
		case !b.In.Has(i):
			if err = silence(n, state, cut); err == nil {
				grants = append(grants, 0) // as far as is known
			}
		case a.Outcome == script.Done:
			e.Got++
			left, grants = append(left, 0), append(grants, 0)
			err = late
		case a.Outcome == script.Refused:
			left, grants = append(left, a.Left), append(grants, 0)
		}
		if guarded, ok := errors.AsType[*server.GuardedError](err); ok && guarded.Why == nil {
			grants = append(grants, guarded.Left)
		}
		if err != nil {
			e.Nodes.Errors = append(e.Nodes.Errors, n.Error(err))
		}
	}
	if free, told := quorum.FreeAfter(len(m.Nodes), left); told {
		e.FreeAfter = free
	}
	if guard, ok := quorum.FreeAfter(len(m.Nodes), grants); ok && guard > 0 && state == ErrNoQuorum {
		state, e.Guard = ErrGuarded, guard
	}
	e.states = []error{state}
	if cut != nil {
		e.states = []error{cut, state}
	}
	return e
}

// silence returns what to say of a master that has not answered, nil if nothing. Where the vote
// was decided without it, nobody waited for it: what it lacks is a reason only where there were
// too few.
func silence(n *node.Node, state, cut error) error {
	if state != ErrNoQuorum {
		return nil
	}
	if err := n.Ready(); err != nil {
		return err
	}
	if cut != nil {
		return ErrPending
	}
	return nil
}

// hopeless reports whether so many masters reported errors that do not heal by themselves that no
// majority is left.
func (b *Ballot) hopeless() bool {
	never := 0
	for i := range b.N {
		if a := b.At(i); b.In.Has(i) && a.Err != nil && !server.Heals(a.Err) {
			never++
		}
	}
	return quorum.Vote(b.N, 0, never) == quorum.Lost
}

// Refused makes the error of a lock that was not granted. cut is the context error of a
// wait that was cut short, nil if it was not: a minority that names a holder does not say that the lock is taken.
func (m *Masters) Refused(op, name string, b *Ballot, cut error) *MajorityError {
	granted, refused, _ := b.Tally()
	state, answered := ErrTaken, m.Majority(granted+refused)
	if b.Unreachable() || cut != nil && (refused == 0 || !answered) {
		state = ErrNoQuorum
	}
	err := m.Lost(op, name, b, state, cut, nil)
	holder, held := quorum.Holder(len(m.Nodes), b.holders())
	err.Split = !held && answered
	if held && state == ErrTaken && op != "acquire" { // an owner of one slot does not have the semaphore
		err.Holder, err.ours = holder, m.Ours(holder)
	}
	return err
}

// Unreachable reports whether too few masters gave an answer that counts to a lock.
func (b *Ballot) Unreachable() bool {
	granted, _, failed := b.Tally()
	return quorum.Judge(b.N, granted, failed, b.holders()) == quorum.Unreachable
}

func oneLine(errs []error) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// Ended returns the error of a context that has ended, so that it matches both ctx.Err
// and the cause that was given.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return &chain{[]error{err, cause}}
}
