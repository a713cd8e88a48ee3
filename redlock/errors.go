package redlock

import (
	"errors"
	"fmt"
	"time"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// States of a lock that errors.Is finds.
var (
	// ErrTaken says that another owner has the lock.
	ErrTaken = poll.ErrTaken
	// ErrNoQuorum says that too few masters gave an answer that counts: the others were silent,
	// or answered with an error.
	ErrNoQuorum = poll.ErrNoQuorum
	// ErrGuarded says that masters restarted lately and grant nothing until Config.RestartGuard
	// has passed. Only time is needed: MajorityError.Guard says how much. It matches ErrNoQuorum
	// as well.
	ErrGuarded = poll.ErrGuarded
	// ErrLost says that the hold ended before its Unlock: its validity ran out, or a
	// majority of the masters no longer had it.
	ErrLost = poll.ErrLost
	// ErrNotHeld says that the Hold was already unlocked.
	ErrNotHeld = poll.ErrNotHeld
	// ErrNotAwaited says that the context of an Unlock ended before a majority of the masters confirmed the
	// release, which was sent and goes on in the background. Nothing is wrong: the lock is free a moment later, or
	// at the end of its lease if the masters cannot be reached. It matches the context's error as well.
	ErrNotAwaited = poll.ErrNotAwaited
	// ErrHeld says that a Lock was called under the context of a hold of the same name, so it would
	// wait for itself. [Hold.Enter] enters the hold again; so does a Lock under [WithOwner].
	ErrHeld = poll.ErrHeld
	// ErrUpgrade says that a Lock was called under the context of a hold that the caller has for reading. It
	// would wait for itself, and cannot enter that hold: two readers that both became writers would wait for
	// each other forever. Unlock the reader's hold first. It matches ErrHeld as well.
	ErrUpgrade = poll.ErrUpgrade
	// ErrOverlap says that other clients use some of the client's masters together with others, and that
	// majorities of the two sets need not meet: both could hold one name at once. The client that
	// came second gets it from each lock and from Ready, in a [*ConflictError].
	ErrOverlap = terms.ErrOverlap
	// ErrShortGuard says that the leases of one client are longer than the restart guard of another:
	// after a restart of masters both could hold one name. The client that came second gets it, as with ErrOverlap.
	ErrShortGuard = terms.ErrShortGuard
	// ErrRoute says that two processes spread names over different sets of masters, see [NewSets], with no list of
	// sets in common: both could hold one name, each in another set. The client that came second gets it, as with ErrOverlap.
	ErrRoute = terms.ErrRoute
	// ErrClosed says that the Client is closed.
	ErrClosed = poll.ErrClosed
)

// MajorityError says that an operation found no majority of the masters, and what each of them said. [errors.Is]
// finds the state (ErrTaken, ErrNoQuorum, …), the context's error where a wait was cut short, and each
// master's error.
type MajorityError struct {
	Op            string        // what failed: "lock", "acquire" (a permit), "unlock", "extend", "ready", …
	Name          string        // of the lock or the semaphore; empty for "ready"
	Got, Need, Of int           // masters that said yes, that were needed, and that there are
	Masters       []error       // one for each master that did not say yes, which names it
	Guard         time.Duration // of ErrGuarded: until a majority grants locks; otherwise 0

	// Hopeless: waiting is in vain. So many masters reported errors that do not pass by themselves that no
	// majority is left.
	Hopeless bool

	// Of ErrTaken: who has the lock, as a majority of the masters says.
	Holder    string        // its owner, "uuid:rN", or "shared": readers; empty if no majority names one, and of a semaphore
	Client    *ClientInfo   // whose owner that is; nil if it has no record, or is not known
	HeldFor   time.Duration // how long it has had the lock; 0 if that is not known
	FreeAfter time.Duration // until a majority is free unless the holder renews; negative if too few masters said that
	Split     bool          // the lock may be free: several callers that tried at the same time have some masters each

	err *poll.MajorityError
}

// Error says all of it in one line.
func (e *MajorityError) Error() string {
	if e.err == nil {
		return "redlock: a MajorityError of no call"
	}
	return e.err.Error()
}

// Unwrap returns what errors.Is finds.
func (e *MajorityError) Unwrap() error {
	if e.err == nil {
		return nil
	}
	return e.err
}

func newMajorityError(e *poll.MajorityError) *MajorityError {
	out := &MajorityError{
		Op: e.Op, Name: e.Name, Got: e.Got, Need: e.Need, Of: e.Of, Masters: e.Nodes.Errors, Guard: e.Guard,
		Hopeless: e.Hopeless(), Holder: e.Holder, Client: e.Client, HeldFor: e.For, FreeAfter: -1, Split: e.Split(), err: e,
	}
	if free, told := e.FreeAfter(); told {
		out.FreeAfter = free
	}
	return out
}

// outward returns err as users see it: a MajorityError of package poll becomes one of this package.
func outward(err error) error {
	why, ok := errors.AsType[*poll.MajorityError](err)
	switch out := error(nil); {
	case !ok || errors.As(err, new(*MajorityError)):
		return err
	default:
		if out = newMajorityError(why); err != error(why) {
			out = &within{err, out}
		}
		return out
	}
}

// within is an error that has a MajorityError within it.
type within struct{ err, majority error }

func (w *within) Error() string   { return w.err.Error() }
func (w *within) Unwrap() []error { return []error{w.majority, w.err} }

// outwardTrace returns a trace that calls t with errors as users see them.
func outwardTrace(t *redlocktrace.Trace) *redlocktrace.Trace {
	if t == nil {
		return nil
	}
	out := *t
	translate(&out.Waiting, func(e *redlocktrace.Waiting) *error { return &e.Err })
	translate(&out.CallDone, func(e *redlocktrace.CallDone) *error { return &e.Err })
	translate(&out.Renewed, func(e *redlocktrace.Renewed) *error { return &e.Err })
	translate(&out.HoldEnded, func(e *redlocktrace.HoldEnded) *error { return &e.Err })
	translate(&out.Released, func(e *redlocktrace.Released) *error { return &e.Err })
	return &out
}

func translate[E any](tell *func(E), of func(*E) *error) {
	if told := *tell; told != nil {
		*tell = func(e E) {
			err := of(&e)
			*err = outward(*err)
			told(e)
		}
	}
}

// ConflictError names another client whose settings conflict with this one's. It matches [ErrOverlap],
// [ErrShortGuard] or [ErrRoute]. Its fields: Reason is one of these; Own and Other are the [Terms] that
// conflict; Client has the other terms, nil if it keeps no record; Master told of them; Refused says that
// this client came second, and takes no lock.
type ConflictError = terms.ConflictError

// Terms are how a client uses its masters: a part of its [ClientInfo]. Its fields: Masters; Lease and Guard,
// the longest lease and the restart guard in ms; and of a client of several sets, Part, Now and Next.
type Terms = terms.Terms

// Master is one of the masters of Terms.
type Master = terms.Master

var (
	errNoClient  = errors.New("redlock: the Client was not made by New or NewSets")
	errNoHold    = errors.New("redlock: the Hold was not returned by Lock")
	errEmptyName = errors.New("redlock: the name of a lock is empty")
)

// maxName is the length of the longest name, in bytes.
const maxName = 1024

// checkName refuses what no lock can be called.
func checkName(name string) error {
	switch {
	case name == "":
		return errEmptyName
	case len(name) > maxName:
		return fmt.Errorf("redlock: the name of a lock has %d bytes, more than %d", len(name), maxName)
	}
	if prefix := script.Reserved(name); prefix != "" {
		return fmt.Errorf("redlock: the name of a lock begins with %q: it could be a key that belongs to another lock", prefix)
	}
	return nil
}
