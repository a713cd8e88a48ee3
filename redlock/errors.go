package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// ErrOverlap says that other clients use some of the client's masters together with masters that it does not use, and
	// that majorities of the two sets need not meet: both could hold one name at once. A client that begins while
	// others are established gets it from each lock and from Ready, in a [*ConflictError]; it passes at
	// most a minute after they have gone.
	ErrOverlap = terms.ErrOverlap
	// ErrShortGuard says that the leases of one client are longer than the restart guard of another:
	// after a restart of masters both could hold one name. It comes as ErrOverlap does.
	ErrShortGuard = terms.ErrShortGuard
	// ErrRoute says that two processes spread names over different sets of masters, see [NewSets], with no list of
	// sets in common: both could hold one name, each in another set. It comes as ErrOverlap does.
	ErrRoute = terms.ErrRoute
	// ErrLayout says that the libraries of two clients store locks in different ways, so that each misreads the locks of
	// the other: both could hold one name. It comes as ErrOverlap does.
	ErrLayout = terms.ErrLayout
	// ErrClosed says that the Client is closed.
	ErrClosed = poll.ErrClosed
)

// MajorityError says that an operation found no majority of the masters, and what each of them said. [errors.Is]
// finds the state (ErrTaken, ErrNoQuorum, …), the context's error where a wait was cut short, and each
// master's error.
type MajorityError struct {
	Op            string        // what failed: "lock", "acquire" (a permit), "enter" (also by a Lock), "unlock", "extend", "ready", …
	Name          string        // of the lock or the semaphore; empty for "ready"
	Got, Need, Of int           // masters that said yes, that were needed, and that there are
	Masters       []error       // of the masters that refused, failed or did not answer in time: one each, which names it
	Guard         time.Duration // of ErrGuarded: until a majority grants locks; otherwise 0

	// Hopeless says that waiting does not help: so many masters reported permanent errors that no majority is left.
	Hopeless bool

	// Of ErrTaken: who has the lock, as a majority of the masters says.
	Holder    string        // its owner, "uuid:rN", or "shared": readers; empty if no majority names one, and of a semaphore
	Client    *ClientInfo   // whose owner that is; nil if it has no record, or is not known
	HeldFor   time.Duration // how long it has had the lock; 0 if that is not known, as after a wait of less than a second
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
	return &MajorityError{
		Op: e.Op, Name: e.Name, Got: e.Got, Need: e.Need, Of: e.Of, Masters: e.Nodes.Errors, Guard: e.Guard,
		Hopeless: e.Hopeless, Holder: e.Holder, Client: newClientInfo(e.Client), HeldFor: e.For, FreeAfter: e.FreeAfter, Split: e.Split, err: e,
	}
}

// outward returns err as users see it: errors of packages poll and terms become those of this package.
func outward(err error) error {
	return public(public(err, newMajorityError), newConflictError)
}

// public returns err with what show makes of an error within it, which only this package knows.
func public[In, Out error](err error, show func(In) Out) error {
	why, ok := errors.AsType[In](err)
	switch {
	case !ok || errors.As(err, new(Out)):
		return err
	case err == error(why):
		return show(why)
	}
	return &within{err, show(why)}
}

// within is an error that has one of this package within it.
type within struct{ err, public error }

func (w *within) Error() string   { return w.err.Error() }
func (w *within) Unwrap() []error { return []error{w.public, w.err} }

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
	translate(&out.SetsOverlap, func(e *redlocktrace.SetsOverlap) *error { return &e.Err })
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

// ConflictError says that other clients use the masters in a way that does not go together with that of this client.
// It matches [ErrOverlap], [ErrShortGuard], [ErrRoute] or [ErrLayout].
type ConflictError struct {
	Reason     error       // the one that it matches
	Own, Other Terms       // that conflict
	Client     *ClientInfo // one that has the other terms; nil if it keeps no record, or that is not known
	Master     string      // that had the other terms, as errors name it
	Refused    bool        // the other was established before, so this client takes no lock here, or in this set of masters
}

// Error says all of it in one line.
func (e *ConflictError) Error() string {
	if e.Reason == nil {
		return "redlock: a ConflictError of no call"
	}
	in := terms.ConflictError{
		Reason: e.Reason, Own: *e.Own.inside(), Other: *e.Other.inside(), Client: e.Client.inside(), Master: e.Master, Refused: e.Refused,
	}
	return in.Error()
}

// Unwrap returns the reason.
func (e *ConflictError) Unwrap() error { return e.Reason }

func newConflictError(e *terms.ConflictError) *ConflictError {
	return &ConflictError{
		Reason: e.Reason, Own: newTerms(&e.Own), Other: newTerms(&e.Other), Client: newClientInfo(e.Client), Master: e.Master, Refused: e.Refused,
	}
}

var (
	errNoClient  = errors.New("redlock: the Client was not made by New or NewSets")
	errNoHold    = errors.New("redlock: the Hold was not returned by Lock")
	errEmptyName = errors.New("redlock: the name of a lock is empty")
)

// setError is what a call returned in one of several sets.
type setError struct {
	set string
	err error
}

func (e *setError) Error() string { return fmt.Sprintf("redlock: set %q: %s", e.set, poll.Bare(e.err)) }
func (e *setError) Unwrap() error { return e.err }

// joined joins what is not nil of errs as [errors.Join] does, but on one line, and says each text once.
func joined(errs []error) error {
	var all several
	for _, err := range errs {
		if err != nil && !slices.ContainsFunc(all, func(e error) bool { return e.Error() == err.Error() }) {
			all = append(all, err)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// several are errors on one line.
type several []error

func (e several) Error() string {
	texts := make([]string, len(e))
	for i, err := range e {
		texts[i] = poll.Bare(err)
	}
	return "redlock: " + strings.Join(texts, "; ")
}

func (e several) Unwrap() []error { return e }

// maxName is the length of the longest name, in bytes.
const maxName = 1024

// checkName refuses what no lock can be called that has prefix in front of it at the masters.
func checkName(prefix, name string) error {
	whole := len(prefix) + len(name)
	switch {
	case name == "":
		return errEmptyName
	case whole > maxName && prefix != "":
		return fmt.Errorf("redlock: the name of a lock has %d bytes, %d with its prefix, more than %d", len(name), whole, maxName)
	case whole > maxName:
		return fmt.Errorf("redlock: the name of a lock has %d bytes, more than %d", whole, maxName)
	}
	if own := script.Reserved(name); own != "" {
		return fmt.Errorf("redlock: the name of a lock begins with %q: it could be a key that belongs to another lock", own)
	}
	return nil
}
