package server

import (
	"errors"
	"math/rand/v2"
	"time"
)

// Attempts to connect begin with these times.
const (
	// FirstPatience bounds how long it takes to connect, and half of it each reply of the handshake, unless
	// Config.Timeout gives a reply longer. It is not less, since TCP and TLS take several round trips to connect, and
	// nobody waits for it.
	FirstPatience = time.Second
	firstRetry    = 20 * time.Millisecond
)

const (
	// lastPatience bounds an attempt at a master that was found to be too busy for shorter ones.
	lastPatience = 8 * time.Second

	// lastRetry bounds the pause between two attempts, and so how long it goes unnoticed that a master
	// has returned.
	lastRetry = 500 * time.Millisecond
)

// Attempts paces the attempts to connect to one master, see docs/design/masters.md. A connection costs a master far more
// than a command does, so a client that gives up and begins anew makes the queue longer for all, itself included. If not even
// TCP connects, an attempt that is given up costs the master nothing, and patience would only delay the next.
type Attempts struct {
	Patience time.Duration // of the next attempt
	retry    time.Duration // the mean pause before it
}

// FirstAttempts are those at an address that has not answered yet: there may be no master, which the user wants to
// hear soon. A reply may take timeout, as any other.
func FirstAttempts(timeout time.Duration) Attempts {
	return Attempts{min(max(FirstPatience, 2*timeout), lastPatience), firstRetry}
}

// MoreAttempts are those after a connection that worked. All other clients may have lost theirs at the same moment.
func MoreAttempts() Attempts { return Attempts{lastPatience, firstRetry} }

// Failed takes in why an attempt failed, and returns how long to pause before the next.
func (a *Attempts) Failed(err error) (pause time.Duration) {
	if errors.Is(err, ErrTimeout) && err != errUnreached {
		a.Patience = min(2*a.Patience, lastPatience)
	}
	pause = a.retry/2 + rand.N(a.retry)
	a.retry = min(2*a.retry, lastRetry)
	return pause
}
