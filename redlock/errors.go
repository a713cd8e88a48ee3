package redlock

import (
	"errors"
	"fmt"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
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
	// ErrUpgrade says that a Lock was called under the caller's own hold as a reader, and would
	// wait for itself.
	ErrUpgrade = poll.ErrUpgrade
	// ErrOverlap says that other clients use some of the client's masters together with others, and that
	// majorities of the two sets need not meet: both could hold one name at once. A client that begins while
	// others are established gets it from each lock and from Ready, in a [*ConflictError]; it passes a minute
	// after they have gone.
	ErrOverlap = terms.ErrOverlap
	// ErrShortGuard says that the leases of one client are longer than the restart guard of another:
	// after a restart of masters both could hold one name. It comes as ErrOverlap does.
	ErrShortGuard = terms.ErrShortGuard
	// ErrRoute says that two processes spread names over different [Sets], with no list of sets in common:
	// both could hold one name, each in another set. It comes as ErrOverlap does.
	ErrRoute = terms.ErrRoute
	// ErrClosed says that the Client is closed.
	ErrClosed = poll.ErrClosed
)

// MajorityError says that an operation found no majority, and what each master said. [errors.Is] finds the
// state (ErrTaken, ErrNoQuorum, …), the context's error where a wait was cut short, and each master's error.
//
// Its fields: Op and Name say what failed. Got, Need and Of count the masters that said yes, that were
// needed, and that there are. Nodes has one error for each master that did not say yes. Guard, of an
// ErrGuarded, is how long it takes until a majority grants locks. Holder, Client and For, of an ErrTaken, say
// who has the lock and for how long.
//
// Its methods: FreeAfter says when a majority will be free unless the holder renews, Split whether several
// callers hold some masters each, and Hopeless whether waiting is in vain. For the details, see
//
//	go doc example.com/redlock/multilock/poll.MajorityError
type MajorityError = poll.MajorityError

// ConflictError names another client whose settings conflict with this one's. It matches [ErrOverlap],
// [ErrShortGuard] or [ErrRoute]. Its fields: Reason is one of these; Own and Other are the [Terms] that
// conflict; Client has the other terms, nil if it keeps no record; Master told of them; Refused says that
// the other was established before, and this client takes no lock.
type ConflictError = terms.ConflictError

// Terms are how a client uses its masters: a part of its [ClientInfo]. Its fields: Masters; Lease and Guard,
// the longest lease and the restart guard in ms; and of a client of [Sets], Part, Now, Next and Others.
type Terms = terms.Terms

// Master is one of the masters of Terms.
type Master = terms.Master

var errEmptyName = errors.New("redlock: the name of a lock is empty")

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
