package redlocktrace

import (
	"context"
	"time"
)

// Call says which call an event is about.
type Call struct {
	Client  string // see ClientChanged
	ID      uint64 // from 1; no other call of the client has it
	Name    string
	Kind    Kind
	Permits int  // of the semaphore, as the caller counts them; 0 for a lock
	Wait    bool // until the lock is free; otherwise it only tries
	Watch   bool // the watchdog renews the hold; otherwise its lease is fixed
}

// Kind is what a call wants.
type Kind string

const (
	KindLock   Kind = "lock"   // alone
	KindRead   Kind = "read"   // together with other readers
	KindPermit Kind = "permit" // of a semaphore
)

// CallStarted is the beginning of a call.
type CallStarted struct {
	Call
	Time    time.Time
	Context context.Context // the caller's
	Lease   time.Duration
}

// Waiting says that a call waits, and at which place.
//
// The place in line, as a user counts it, is Ahead+1, behind the holder, which Err names. Callers of the same client that
// wait for the name share one place, so Ahead is -1 for a caller that has others of its client before it. The place is as
// old as the last round: up to 0.4 s, or 3.2 s far from the head of the queue.
type Waiting struct {
	Call
	Time   time.Time
	Behind int   // callers of the same client that wait for the name before it
	Ahead  int   // how many stand before it in the queue of the masters, by what a majority of them say; -1: not known
	Err    error // what it waits for: ErrTaken or ErrNoQuorum, as in the error of a wait that is cut short
}

// Round says which round an event is about: one command to all masters. Each try has an owner of its own. Tries and rounds
// count from 1 in their call.
type Round struct {
	Try    int
	Number int
	Ask    Ask
}

// Ask is what a round asks for.
type Ask string

const (
	AskAcquire Ask = "acquire" // the lock, and a place in the queue where it is taken and the call waits
	AskQueue   Ask = "queue"   // to stay in the queue: somebody else has the lock
	AskEnter   Ask = "enter"   // one level more of a lock that is held: a re-entry
	AskRaise   Ask = "raise"   // the masters to agree on a fencing token
)

// Asked is a round that is sent.
type Asked struct {
	Call
	Round
	Time    time.Time
	Owner   string    // as the masters know the try
	Masters []string  // that are asked; must not be changed
	Entered []string  // where the release that goes before it enters it into the queue instead; must not be changed
	Since   time.Time // when the call began to wait, by the masters' clocks: the earliest comes first; zero: it does not wait
	Token   int64     // of AskRaise: the number to raise the fencing counters to
}

// Voted is a master's answer to a round, or why there is none; or a hand-off that has arrived: the release of another owner
// passed the lock on, and this answers the round that the hand-off names.
type Voted struct {
	Call
	Round
	Time   time.Time
	Master string
	Vote   Vote
	Holder string        // of VoteRefused: the owner that has the lock there, "shared" for readers
	Left   time.Duration // of VoteRefused: for how long that has it
	Ahead  int           // of VoteRefused: how many stand before the caller in the queue there
	Token  int64         // fencing counter, as far as the master told
	Slot   int           // of a permit that was granted or handed off
	Err    error         // why, unless it was granted
	Took   time.Duration // from when the round was sent; 0 of VoteHandedOff
}

// Vote is what a master says to a round.
type Vote string

const (
	VoteGranted    Vote = "granted"
	VoteRefused    Vote = "refused"
	VoteFailed     Vote = "failed"     // it answered with an error, or its clock is not to be trusted
	VoteUnanswered Vote = "unanswered" // not within NodeTimeout: the master may have carried it out
	VoteUnsent     Vote = "unsent"     // it is down or guarded, so nothing was asked
	VoteHandedOff  Vote = "handed_off" // it has handed the lock to the caller: one more than it was asked for
)

// Decided is what the votes of a try have come to, or that it gives back what the masters may have granted it.
type Decided struct {
	Call
	Try      int
	Time     time.Time
	Owner    string
	Decision Decision
	Released []string      // masters that may have a grant or an entry in the queue, which is given back; must not be changed
	Granted  int           // masters whose votes count for it
	Refused  int           // masters that said no
	Failed   int           // masters that gave no answer that counts
	Need     int           // a majority
	Validity time.Duration // that is left, of a majority
	Token    int64         // of DecisionWon
}

// Decision is what votes come to.
type Decision string

const (
	DecisionWon      Decision = "won"      // the lock, and its fencing token
	DecisionMajority Decision = "majority" // the lock, but the masters have yet to agree on a token
	DecisionMinority Decision = "minority" // some votes, which are kept for a moment
	DecisionLost     Decision = "lost"     // the lock is taken, or too few masters answer
	DecisionBackOff  Decision = "back_off" // a minority is given back; the next try keeps its place in the queue
	DecisionGaveUp   Decision = "gave_up"  // the call is over: its context ended, the client was closed, or it entered another hold
	DecisionSplit    Decision = "split"    // several callers have a part of the votes: it tries again
	DecisionLate     Decision = "late"     // a majority, when the lease was used up
	DecisionNoToken  Decision = "no_token" // a majority that agreed on no token
)

// CallDone is the end of a call.
type CallDone struct {
	Call
	Time     time.Time
	Context  context.Context // the caller's
	Outcome  Outcome
	Entered  uint64        // ID of the call whose hold it has entered again; 0: none
	Owner    string        // of the hold
	Token    int64         // of the hold
	Slot     int           // of a permit
	Validity time.Duration // that is left
	Err      error         // that the caller gets
	Took     time.Duration // since CallStarted
	Waited   time.Duration // since Waiting; 0: it was not told
	Tries    int           // owners that have asked
	Rounds   int           // of all tries; 0 of a re-entry, and of a lock that the client had kept
}

// Outcome is how a call ended.
type Outcome string

const (
	OutcomeAcquired     Outcome = "acquired"      // it has the lock
	OutcomeTaken        Outcome = "taken"         // another owner has it, and the call does not wait
	OutcomeNoQuorum     Outcome = "no_quorum"     // too few masters answered, or none that may help ever will
	OutcomeGuarded      Outcome = "guarded"       // masters restarted lately: only time is needed
	OutcomeContextEnded Outcome = "context_ended" // while it waited; Err says for what
	OutcomeClosed       Outcome = "closed"        // the client was closed
	OutcomeConflict     Outcome = "conflict"      // other clients are established that use the masters in another way
	OutcomeUpgrade      Outcome = "upgrade"       // its owner reads, and would wait for itself
)
