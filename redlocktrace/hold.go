package redlocktrace

import "time"

// Hold says which hold an event is about: its Call is the one that got it. Watch is set there as long as the hold is
// renewed, also a fixed lease, while LockAll waits for another name or somebody has entered it.
type Hold struct {
	Call
	Owner string
	Token int64
	Slot  int // of a permit
}

// Renewed is a renewal of a hold.
type Renewed struct {
	Hold
	Time     time.Time
	For      Renewal
	Result   Result
	Left     time.Duration // validity that was left when it was sent
	Validity time.Duration // that is left now
	Healed   []string      // of the masters that had answered by now, those that had lost the hold, and have it again
	Err      error         // nil if it was confirmed
	Took     time.Duration
}

// Renewal is what a renewal is for.
type Renewal string

const (
	RenewalWatchdog  Renewal = "renew" // it was due
	RenewalExtend    Renewal = "extend"
	RenewalDowngrade Renewal = "downgrade"
)

// Result is what became of a renewal.
type Result string

const (
	ResultConfirmed   Result = "confirmed"   // by a majority
	ResultUnconfirmed Result = "unconfirmed" // too few answered; the hold goes on while validity is left
	ResultMissing     Result = "missing"     // so few masters have the hold that it is lost
)

// HoldEnded is the end of a hold.
type HoldEnded struct {
	Hold
	Time time.Time
	End  End
	Err  error         // the cause of its context
	Held time.Duration // since the call was done
}

// Released is what came of the release that follows the end of a hold: a majority of the masters is
// known to be free, or all have answered, or their time is up.
//
// Each master passes the lock to the first in its queue, and does not say to whom. That caller's own Voted says so.
type Released struct {
	Hold
	Time time.Time
	Kept bool          // nothing was sent: the client keeps the lock for its next call, see redlock.Config.Keep
	Why  Why           // a lock that was kept is given back now, which no event confirms; empty: it was not kept
	Next uint64        // ID of the call of the same client that the release enters into the queue; 0: none
	Err  error         // that Unlock returns if it is waited for; nil: the lock is free
	Took time.Duration // since HoldEnded
}

// Why is why a lock is kept no longer.
type Why string

const (
	WhyWanted  Why = "wanted"  // somebody else wants it, or a reader of this client
	WhyOver    Why = "over"    // it was kept for Config.Keep, or until its validity ended
	WhySpent   Why = "spent"   // the next call needs a longer lease, or another fencing token, than is left
	WhyDoubted Why = "doubted" // a master may have forgotten it, or the client may not hear that another wants it
	WhyClosed  Why = "closed"  // the client is closed
)

// End is how a hold ended.
type End string

const (
	EndUnlocked End = "unlocked"
	EndLost     End = "lost"    // too few masters have it
	EndExpired  End = "expired" // its validity is over: its lease was fixed, it was renewed no more, or could not be
	EndClosed   End = "closed"  // the client was closed
)
