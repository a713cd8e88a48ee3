package attempt

import (
	"math/bits"
	"time"
)

// Max is the largest number of masters.
const Max = 16

// Set is a set of masters, a bit for each.
type Set uint32

// All returns the set of n masters.
func All(n int) Set { return 1<<n - 1 }

// Has reports whether master i is in the set.
func (s Set) Has(i int) bool { return s&(1<<i) != 0 }

// Len returns how many masters are in the set.
func (s Set) Len() int { return bits.OnesCount32(uint32(s)) }

// Config is the same for all attempts of a client.
type Config struct {
	Masters int           // how many there are, at most Max
	Keep    time.Duration // for which the client keeps a lock; 0: it keeps none
	Times
}

// Times say how long to wait for what. Round trips come on top, since masters may be far away.
type Times struct {
	FirstPause time.Duration // longest time until the second round
	LastPause  time.Duration // longest time between two rounds of a waiter near the head of the queue
	Near       int           // so many are near the head; 0: all are
	FarPause   time.Duration // longest time between two rounds of the others
	OwnPause   time.Duration // shortest time between two rounds while the attempt's own client has the lock
	Stagger    time.Duration // when many have reason to ask, each of those asks so much later than the one before it
	Grid       time.Duration // rounds fall on multiples of it, so that those of many names share a flush; 0: anywhere
	BackOff    time.Duration // unit of the time that a minority of votes is kept
	Settle     time.Duration // after a hint that the lock is free: other masters give the same hint
	TopUp      time.Duration // how long a hold that was handed off may keep its short lease
	Split      time.Duration // longest pause after the first split of votes, beside a round trip
}

// Usual are the times of production.
//
// The lock is handed off for the time between two rounds and as much again, but not more than twice
// LastPause, so that the round which a hand-off names is never too old to count, and two renewals fit
// into what is left when the message arrives. A waiter that is dead or frozen when the lock is handed
// to it costs the others that lease.
//
// Those near the head notice that a lease has run out or a message was lost. The others only keep
// their places fresh, and so do those whose own client has the lock, and renews and releases it.
var Usual = Times{
	FirstPause: 200 * time.Millisecond,
	LastPause:  400 * time.Millisecond,
	Near:       4,
	FarPause:   3200 * time.Millisecond,
	OwnPause:   time.Second,
	Stagger:    time.Millisecond,
	Grid:       50 * time.Millisecond,
	BackOff:    4 * time.Millisecond,
	Settle:     time.Millisecond,
	TopUp:      20 * time.Millisecond,
	Split:      8 * time.Millisecond,
}

// Outcome is what became of a command.
type Outcome uint8

const (
	Unsent  Outcome = iota // it never left: it was certainly not carried out
	Unknown                // sent, not answered: it may have been carried out, or may be yet
	Errored                // answered with an error
	No                     // answered no
	Yes                    // answered yes
)

// mayHold reports whether a command with this outcome may have left its owner a hold.
func (o Outcome) mayHold() bool { return o == Yes || o == Unknown || o == Errored }

// Holder stands for the owner that a master named: a number that no other owner has.
type Holder uint64

const (
	// Nobody has the lock.
	Nobody Holder = 0
	// Ours is set in the numbers of owners of the attempt's own client.
	Ours Holder = 1 << 63
	// Keeps is set in those of owners whose clients keep locks.
	Keeps Holder = 1 << 62
)

// Kind is the kind of an [Event].
type Kind uint8

const (
	Start     Kind = iota // a caller wants the lock: the entry Key wants Wish
	Answer                // a master answered a round, or did not in time
	Followed              // a master answered the release that the caller follows, or did not in time
	HandedOff             // a master handed the lock off
	Hint                  // the lock may be free: ask again after Delay and up to twice that
	Due                   // the instant of Wake has come
	Doubt                 // what a master voted for may have ended early
	Wanted                // somebody else wants the lock
	Enter                 // another caller wants the hold, or what is kept: the entry Key wants Wish
	Leave                 // the caller of the entry Key wants the lock no more
	Rewish                // the entry Key wants Wish from now on: its caller waits for another lock, or has all that it takes together
	Renew                 // a renewal is to be made: the one that is due, or for Lease if that is not 0
	Downgrade             // the hold is a reader's from now on, and a renewal is to be made for that
	Agree                 // the hold is to have Token, which is that of another hold: the two are one
	Lose                  // the hold is lost, whatever its masters say: as with the other of two that are one
	End                   // nobody is to have the lock any more: as when the client is closed
)

// Event is something that happened to an [Attempt].
type Event struct {
	Kind Kind

	Master   int
	Try      uint32 // owner that it is about
	Round    uint32 // that was answered, or that a hand-off names
	Outcome  Outcome
	Holder   Holder        // who has the lock, of a No
	Left     time.Duration // how long the holder still has it
	Ahead    int           // how many stand before the caller in the queue, of a No; 0 if it does not stand there
	Token    int64         // fencing counter; of Agree a token
	Hopeless bool          // the error does not pass by itself

	Delay  time.Duration // of Hint
	Key    any           // of an entry
	Wish   Wish          // of Start, Enter and Rewish
	Shared bool          // of Enter: as a reader
	Follow bool          // of Start: a release of its client to all masters enters the caller into their queues
	Keep   bool          // of Leave: nothing keeps the client from keeping the lock
	Lease  time.Duration // of Renew

	// What the driver knows and draws.
	Trip time.Duration // bound on the round trip to the q-th fastest master
	Lot  uint32        // a random number
	Told bool          // its client hears of hand-offs, and of what is wanted, from a majority of the masters
}

// draw returns a random duration below d, and notes that chance had a say.
func (e *Event) draw(d time.Duration, out *Effects) time.Duration {
	out.Drawn = true
	return time.Duration(uint64(d) * uint64(e.Lot) >> 32)
}

// Effects are what a step of an [Attempt] wants done, in this order. Everything else can be read off the
// attempt: its state, when to wake it, when it is to be renewed.
type Effects struct {
	// NewOwner: the owner so far is given up, and Round is a new one's: no owner is used for two tries.
	NewOwner bool

	// Send: send Round to these masters.
	Send  Set
	Round Round

	// What the owner before has is released at these masters, and it leaves their queues: behind Round, so that the new
	// one has its place there. At those in Yield the lock is not handed off, but stays free.
	Release, Yield Set

	// Settled is a round that was decided, 0 if none was. Result says how.
	Settled uint32
	Result  Result

	Drawn bool // Event.Lot was used
}
