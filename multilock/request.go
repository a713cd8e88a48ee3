package multilock

import (
	"errors"
	"time"

	"example.com/redlock/multilock/protocol"
)

// target is what a caller wants: a lock, or a permit of a semaphore. The lock and the semaphore of
// one name have nothing to do with each other.
type target struct {
	key       string
	semaphore bool
}

// op is what a caller does who wants it.
func (t target) op() string {
	if t.semaphore {
		return "acquire"
	}
	return "lock"
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

	// Callers with the same Owner enter each other's hold of a lock; nil: only who is given the Entry
	// for one does. A permit is never entered again.
	Owner any
	Entry Entry // told when the hold has ended

	trace *callTrace // nil: the call is not traced
}

// target is what is wanted.
func (req *Request) target() target { return target{req.Key, req.Permits > 0} }

// want is how a contender wants it.
func (req *Request) want() protocol.Want {
	return protocol.Want{Lease: req.Lease, Wait: req.Wait, Shared: req.Shared, Permits: req.Permits}
}

// errOther is why a caller waits that has not asked anybody.
var errOther = errors.New("another caller of this client")
