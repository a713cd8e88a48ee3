// Package history is the record of a run: which client asked for what and when, what it was told, and what harm was done
// to whom. Tests that harm masters write a history, the judge checks it, and the picture draws it.
//
// A history is a text file with one JSON object a line, an [Event]. Each process writes its own lines with a [Recorder];
// [Read] and [Merge] put them in the order of time. [History.View] makes of them the calls, holds, faults and processes
// that the judge and the picture are about.
//
// # Concurrency
//
// A Recorder may be used by any number of goroutines. A History is a value that nobody changes.
//
// # Errors
//
// A line that is no event, or an event that contradicts those before it, is an error that names its line.
package history

import "time"

// What is the kind of an event.
type What string

const (
	// RunBegan is the first event: what was set up. It has Run.
	RunBegan What = "run"

	// Called: a caller begins a call. Call is its number, Do what it asks for, Names the names it asks for, Hold the hold
	// that it is about, Permits how many permits there are, and Deadline when its context ends.
	Called What = "call"
	// Returned: the call with that number returned. Err is empty where it succeeded.
	Returned What = "return"
	// Granted: the call with that number was granted a hold of Name. Hold is its number; it has Slot, Shared, Token and
	// Until. The event comes after the library returned, and before the call's Returned.
	Granted What = "grant"
	// Queues: the call with that number asks for the place Since in the masters' queues, as each of its owners does; 0: it
	// has left them for a while. Stands: each master has said by now that it has that place.
	Queues What = "queues"
	Stands What = "stands"
	// Alive: the context of that hold had not ended at At, and its validity was then to end at Until.
	Alive What = "alive"
	// Lost: a hold's context was seen to have ended, though nobody called Unlock. Text has the cause.
	Lost What = "lost"
	// Stall: this process, or a thread of it, noticed that it did not run from From to At though it wanted to.
	Stall What = "stall"

	// Started, Stopped (with SIGSTOP), Continued, Killed and Exited tell the life of the client process Who.
	// Started has Skew and Keep.
	Started   What = "started"
	Stopped   What = "stopped"
	Continued What = "continued"
	Killed    What = "killed"
	Exited    What = "exited"

	// Fault: harm is done to the masters or clients On. Fault is its kind, ID its number, and Forgets says whether a master
	// loses what it has granted, though it does not restart.
	Fault What = "fault"
	// Mended: the fault with that ID is over. A fault that takes no time is mended at once. From is when the first of the
	// masters or clients was mended, and Forgets says whether a master loses by that what it has granted.
	Mended What = "mended"
	// Over: there are no more faults until the end of the run.
	Over What = "over"

	// Wrote: hold Hold, of Name and Slot, wrote to what its lock protects, with its token.
	Wrote What = "write"

	// Audited: what is left in a process whose client has closed (Goroutines, Sockets, Heap), or on a master (Left).
	Audited What = "audit"
)

// Do is what a call asks for.
type Do string

const (
	Lock        Do = "lock"        // waits
	TryLock     Do = "trylock"     // does not
	LockFor     Do = "lockfor"     // with a fixed lease
	RLock       Do = "rlock"       // waits, to read
	TryRLock    Do = "tryrlock"    //
	LockAll     Do = "lockall"     // waits for several names
	Acquire     Do = "acquire"     // waits for a permit
	TryAcquire  Do = "tryacquire"  //
	Enter       Do = "enter"       // again, under Hold
	Leave       Do = "leave"       // what was entered
	Extend      Do = "extend"      //
	Downgrade   Do = "downgrade"   //
	Unlock      Do = "unlock"      //
	CloseClient Do = "closeclient" //
)

// Waits reports whether a call goes on until it has what it asks for or its context ends.
func (d Do) Waits() bool {
	switch d {
	case Lock, LockFor, RLock, LockAll, Acquire:
		return true
	}
	return false
}

// Takes reports whether a call asks for a hold.
func (d Do) Takes() bool { return d.Waits() || d == TryLock || d == TryRLock || d == TryAcquire }

// Failure is the kind of an error, by the library's documentation.
type Failure string

const (
	Taken    Failure = "taken"
	NoQuorum Failure = "noquorum" // too few masters answered
	Ended    Failure = "ended"    // the context
	NoLock   Failure = "lost"     // the hold was lost before
	NotHeld  Failure = "notheld"
	Closed   Failure = "closed"
	Upgrade  Failure = "upgrade"
	Unknown  Failure = "other" // an error that is not documented: Text has it
)

// Event is a line of a history. Which fields it has depends on What.
type Event struct {
	At   time.Duration `json:"at"` // since the run began, by a clock that nobody moves
	What What          `json:"what"`
	Who  string        `json:"who,omitempty"` // the client process, "c1", or master, "m1"

	Call     int           `json:"call,omitempty"` // its number, unique to Who, from 1
	Do       Do            `json:"do,omitempty"`
	Names    []string      `json:"names,omitempty"`
	Permits  int           `json:"permits,omitempty"`  // that a semaphore has, of those who acquire one
	Deadline time.Duration `json:"deadline,omitempty"` // 0: none
	Err      Failure       `json:"err,omitempty"`
	Text     string        `json:"text,omitempty"`

	Hold   int           `json:"hold,omitempty"` // its number, unique to Who, from 1
	Name   string        `json:"name,omitempty"`
	Slot   int           `json:"slot,omitempty"` // of a permit, from 1; 0: not a permit
	Shared bool          `json:"shared,omitempty"`
	Token  int64         `json:"token,omitempty"`
	Since  int64         `json:"since,omitempty"` // when the call began to wait, by the masters' clocks, in us
	Until  time.Duration `json:"until,omitempty"`

	Value int64 `json:"value,omitempty"` // which clients of the commit in integration/chaos/OLD record, and nobody reads

	From time.Duration `json:"from,omitempty"`
	Skew time.Duration `json:"skew,omitempty"` // of a client's wall clock
	Keep time.Duration `json:"keep,omitempty"` // for how long a client keeps locks that nobody else wants

	ID      int      `json:"id,omitempty"`
	Fault   string   `json:"fault,omitempty"`
	On      []string `json:"on,omitempty"`
	Forgets bool     `json:"forgets,omitempty"`

	Goroutines int      `json:"goroutines,omitempty"` // that were not there before
	Sockets    int      `json:"sockets,omitempty"`    // that are still open
	Heap       int64    `json:"heap,omitempty"`       // bytes in use
	Left       []string `json:"left,omitempty"`       // keys, with what is in them

	Run *Run `json:"run,omitempty"`
}

// Run is what was set up.
type Run struct {
	Title    string        `json:"title"`
	Seed     uint64        `json:"seed"`
	Began    time.Time     `json:"began,omitzero"` // by the wall clock
	Masters  []string      `json:"masters"`
	Lease    time.Duration `json:"lease"`
	MaxLease time.Duration `json:"maxlease"`
	Guard    time.Duration `json:"guard"` // of masters that restarted, negative if off

	// NodeTimeout is how long one master may take to answer.
	NodeTimeout time.Duration `json:"nodetimeout"`
	Replay      string        `json:"replay,omitempty"`
}

// Violation is what a judge found wrong.
type Violation struct {
	Check  string        `json:"check"`
	At     time.Duration `json:"at"` // when it was so first
	Text   string        `json:"text"`
	Events []Event       `json:"events"` // the shortest part of the history that shows it
	// Unpromised says why nobody promised otherwise, or is empty.
	Unpromised string `json:"unpromised,omitempty"`
}
