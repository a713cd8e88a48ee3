package script

import (
	"errors"
	"fmt"
	"time"
)

// Outcome is what became of a command.
type Outcome uint8

const (
	// Unsent commands never left, so they certainly did not and will not run.
	Unsent Outcome = iota
	// Unknown commands were sent and not answered. They may have run, or may still run when a
	// frozen master thaws.
	Unknown
	// Failed commands were answered with an error. How much they did depends on it.
	Failed
	// Refused commands were answered with no.
	Refused
	// Done commands were answered with yes.
	Done
)

func (o Outcome) String() string {
	return [...]string{"Unsent", "Unknown", "Failed", "Refused", "Done"}[o]
}

// Renewed is what became of one hold of a Renew command.
type Renewed int8

// The values are those that the script returns, but for the first two.
const (
	// Errored says that the master answered with an error, so that nothing is known of the hold.
	Errored Renewed = -3
	// NotLock says that the key is no lock, which is an error as well.
	NotLock Renewed = -2

	Foreign  Renewed = -1 // another owner has it
	Absent   Renewed = 0  // nobody has it
	Extended Renewed = 1
	Healed   Renewed = 2 // nobody had it: set again
)

// Answer is a master's answer to a command, or why there is none.
type Answer struct {
	Outcome Outcome
	Err     error // of Unsent, Unknown and Failed, and of a Raise that was refused for its token

	Token   int64         // fencing counter: Acquire, Raise, Inspect
	Holder  string        // who has the lock: a refused Acquire, Inspect
	Count   int           // hold count: Inspect
	Crowd   *Crowd        // who has the lock together, and who waits: Inspect; nil if nobody does
	Left    time.Duration // how long the holder still has it
	Taken   int           // above 0: so many permits there are, and all are taken, one of them for Left
	Slots   []Slot        // that somebody has or waits for: Look
	Rank    int           // how many stand before the owner in the queue: a refused AcquireOrRegister, Register
	Renewed []Renewed     // one for each hold: Renew
	Reply   any           // as redigo has it: of a plain command
	Errors  map[int]error // why, for each hold that is NotLock or Errored: Renew
}

// Slot is what a master has of a slot of a semaphore.
type Slot struct {
	Slot  int
	Held  bool
	Left  time.Duration // how long the holder still has it
	Queue int           // how many stand in its queue
}

// Waiter is one in the queue of a lock.
type Waiter struct {
	Owner string
	Mode  Mode
}

// Why returns why the master did not say yes.
func (a Answer) Why() error {
	if a.Outcome == Refused && a.Err == nil {
		return &TakenError{Holder: a.Holder, Left: a.Left, Permits: a.Taken}
	}
	return a.Err
}

// WithoutVotes returns a, the answer to c, with an error in place of each vote. That a master does not have a
// hold that was to be renewed is none, and stays.
func (c *Command) WithoutVotes(a Answer, why error) Answer {
	if a.Outcome != Done || !c.Vouches() {
		return a
	}
	if len(a.Renewed) == 0 {
		return Answer{Outcome: Failed, Err: why}
	}
	for i, r := range a.Renewed {
		if r > Absent {
			a.spoil(i, Errored, why)
		}
	}
	return a
}

// spoil notes that the i-th hold of a Renew is NotLock or Errored, and why.
func (a *Answer) spoil(i int, what Renewed, why error) {
	if a.Errors == nil {
		a.Errors = make(map[int]error)
	}
	a.Renewed[i], a.Errors[i] = what, why
}

var (
	errCounter = errors.New("its fencing counter has moved on")
	errBeyond  = errors.New("its fencing counter is beyond 2^53")
)

// TakenError says who has the lock at a master.
type TakenError struct {
	Holder  string        // empty: nobody; SharedHolder: readers
	Left    time.Duration // Never: it does not expire
	Permits int           // above 0: so many permits there are, and somebody has each
}

func (e *TakenError) Error() string {
	holder := e.Holder
	switch {
	case e.Permits > 0:
		return fmt.Sprintf("all permits are taken, of %d, one of them for another %v", e.Permits, e.Left)
	case holder == "":
		return "not held"
	case holder == SharedHolder:
		holder = "readers"
	}
	if e.Left == Never {
		return fmt.Sprintf("held by %s, without expiry", holder)
	}
	return fmt.Sprintf("held by %s for another %v", holder, e.Left)
}

// Never is the time left of a lock that does not expire.
const Never = time.Duration(1<<63 - 1)

// SharedHolder is the holder that an [Answer] names if readers have the lock.
const SharedHolder = "shared"

// Reader is one that has a lock together with others.
type Reader struct {
	Owner string
	Left  time.Duration // until its lease ends
}

// Crowd is who has a lock together, and who waits for it. Of either there are 32 at most.
type Crowd struct {
	Readers []Reader // those who have it the longest, the last of them last
	Waiters []Waiter // the first ones, in their order
}
