package node

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Attempts to connect begin with these times.
const (
	// firstPatience bounds how long it takes to connect, and half of it each reply of the handshake. It is not
	// Config.Timeout, since TCP and TLS take several round trips to connect, and nobody waits for it.
	firstPatience = time.Second
	firstRetry    = 20 * time.Millisecond
)

const (
	// lastPatience bounds an attempt at a master that was found to be too busy for shorter ones.
	lastPatience = 8 * time.Second

	// lastRetry bounds the pause between two attempts, and so how long it goes unnoticed that a master
	// has returned.
	lastRetry = 500 * time.Millisecond
)

// attempts paces the attempts to connect to one master.
//
// A connection costs a master far more than a command does, with TLS a millisecond or two. Clients that come back
// all at once may have to queue for it, and one that gives up and begins anew makes the queue longer for all,
// itself included. So each attempt that a server accepts, and then leaves unfinished, doubles the time that the next one
// has. It stays open meanwhile, so that a master that has only hung is noticed at once.
//
// Where not even TCP connects, nothing is lost with an attempt, and patience would only delay the next.
type attempts struct {
	patience time.Duration // of the next attempt
	retry    time.Duration // the mean pause before it
}

// newAttempts are those at a master that has not answered yet: it may not be one, which its user wants to
// hear soon.
func newAttempts() attempts { return attempts{firstPatience, firstRetry} }

// moreAttempts are those after a connection that worked. All others may have lost theirs at the same moment.
func moreAttempts() attempts { return attempts{lastPatience, firstRetry} }

// failed takes in why an attempt failed, and returns how long to pause before the next.
func (a *attempts) failed(err error) (pause time.Duration) {
	if errors.Is(err, ErrTimeout) && err != errUnreached {
		a.patience = min(2*a.patience, lastPatience)
	}
	pause = a.retry/2 + rand.N(a.retry)
	a.retry = min(2*a.retry, lastRetry)
	return pause
}
