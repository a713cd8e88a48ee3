package multilock

import (
	"errors"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
)

// called returns what users do who want the lock at key, and what they call it: a slot of a semaphore, or what
// the slots' keys begin with, is a permit of it.
func called(key string) (op, name string) {
	if semaphore, _ := script.SlotOf(key); semaphore != "" {
		return "acquire", semaphore
	}
	return "lock", key
}

// Request says what to lock, and how.
type Request struct {
	Key     string
	Shared  bool          // a lock, together with others that share it
	Permits int           // above 0: one of the permits of a semaphore, as the caller counts them
	Lease   time.Duration // whole milliseconds
	Wait    bool          // until the lock is free; otherwise it tries, a few times at most where votes split
	Watch   bool          // renew the hold until it is given back
	Limit   time.Duration // of the time that it is renewed; 0: none
	Since   clock.Instant // when the caller began to wait, which is its place in the queue; zero: now

	// Callers with the same Owner enter each other's hold of a lock; nil: only who is given the Entry
	// for one does. A permit is never entered again.
	Owner any
	Entry Entry // told when the hold has ended

	trace *callTrace // nil: the call is not traced
}

// line returns in which line of this client's callers one stands that waits for what is wanted.
func (req *Request) line() string {
	if req.Permits > 0 {
		return script.Slots(req.Key)
	}
	return req.Key
}

// lineOf returns in which line of this client's callers one stands that waits for the lock at key, which may be a slot.
func lineOf(key string) string {
	if semaphore, slot := script.SlotOf(key); slot >= 0 {
		return script.Slots(semaphore)
	}
	return key
}

// wish is how the caller wants what it gets renewed.
func (req *Request) wish() attempt.Wish {
	w := attempt.Wish{Watched: req.Watch, Lease: req.Lease}
	if req.Watch {
		w.For = req.Limit
	}
	return w
}

// errOther is why a caller waits that has not asked anybody.
var errOther = errors.New("another caller of this client")
