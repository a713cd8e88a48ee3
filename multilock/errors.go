package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-multierror"

	"example.com/redlock/node"
	"example.com/redlock/quorum"
)

// States that a vote can be lost for.
var (
	ErrTaken    = errors.New("redlock: taken by another owner")
	ErrNoQuorum = errors.New("redlock: too few masters answered")
	ErrLost     = errors.New("redlock: hold lost")
)

var (
	errPending = errors.New("no answer yet")
	errLate    = errors.New("granted, but too late: the lease was used up")
	errTokens  = errors.New("agreed on a fencing token, too few others did")
	errShort   = errors.New("answered for another number of holds")
)

// MajorityError says that an operation found no majority of the masters, and why not.
//
// errors.Is finds the state (ErrTaken, ErrNoQuorum, …), the context error if a wait was
// cut short, and what each master said.
type MajorityError struct {
	Op        string            // "lock", "unlock", "extend", "renew", "inspect" or "force unlock"
	Name      string            // of the lock
	Got, Need int               // votes
	Nodes     *multierror.Error // one entry per master that did not say yes, each naming it; never nil

	states []error
	free   time.Duration // until a majority is free
	told   bool          // whether free is known
	split  bool
}

func (e *MajorityError) Error() string {
	var b strings.Builder
	for i, s := range e.states {
		text := s.Error()
		if i > 0 {
			b.WriteString(": ")
		} else if !strings.HasPrefix(text, "redlock: ") {
			b.WriteString("redlock: ") // the state is that of a context
		}
		b.WriteString(text)
	}
	fmt.Fprintf(&b, " (%s %q: %d of %d votes)", e.Op, e.Name, e.Got, e.Need)
	if len(e.Nodes.Errors) > 0 {
		b.WriteString(": " + e.Nodes.Error())
	}
	return b.String()
}

// Unwrap returns the states and the error of each master.
func (e *MajorityError) Unwrap() []error {
	return append(append([]error(nil), e.states...), e.Nodes)
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

// FreeAfter returns how long it takes until a majority of the masters is free, by what
// they said, if enough of them said anything. A holder that renews stays longer.
func (e *MajorityError) FreeAfter() (time.Duration, bool) { return e.free, e.told }

// Split reports whether no majority of the masters named one holder, though enough of them
// answered: the lock may be free, and several owners that tried at the same time may have
// got some masters each.
func (e *MajorityError) Split() bool { return e.split }

// lost makes the error of a vote. late is what to say of the masters that said yes, nil
// if they need no entry.
func (m *Masters) lost(op, name string, b *ballot, state, ctxErr, late error) *MajorityError {
	e := &MajorityError{
		Op:     op,
		Name:   name,
		Need:   m.majority(),
		Nodes:  &multierror.Error{ErrorFormat: oneLine},
		states: []error{state},
	}
	if ctxErr != nil {
		e.states = []error{ctxErr, state}
	}
	var left []time.Duration
	for i, n := range m.nodes {
		a := b.answers[i]
		var err error
		switch {
		case !b.in.has(i):
			err = &node.Error{Node: n.Name(), Err: errPending}
		case a.Outcome == node.Done:
			e.Got++
			left = append(left, 0)
			if late != nil {
				err = &node.Error{Node: n.Name(), Err: late}
			}
		default:
			err = n.Explain(a)
			if a.Outcome == node.Refused {
				left = append(left, a.Left)
			}
		}
		if err != nil {
			e.Nodes.Errors = append(e.Nodes.Errors, err)
		}
	}
	e.free, e.told = quorum.FreeAfter(len(m.nodes), left)
	return e
}

// refused makes the error of a lock that was not granted. cut is the context error of a
// wait that was cut short, nil if it was not.
func (m *Masters) refused(name string, b *ballot, cut error) *MajorityError {
	granted, refused, failed := b.tally()
	holders := b.holders()
	state := ErrTaken
	if quorum.Judge(len(m.nodes), granted, failed, holders) == quorum.Unreachable || cut != nil && refused == 0 {
		state = ErrNoQuorum
	}
	err := m.lost("lock", name, b, state, cut, nil)
	_, held := quorum.Holder(len(m.nodes), holders)
	err.split = !held && quorum.Vote(len(m.nodes), granted+refused, 0) == quorum.Won
	return err
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
	return fmt.Errorf("%w: %w", err, cause)
}
