// Package redlocktrace has the functions that a client of package redlock calls at each step: of a
// call that wants a lock, of a hold, and of a master. Package net/http/httptrace does the same for
// HTTP requests.
//
// # Usage
//
//	client, err := redlock.New(redlock.Config{
//		Masters: masters,
//		Trace: &redlocktrace.Trace{
//			CallDone: func(e redlocktrace.CallDone) {
//				acquired.WithLabelValues(string(e.Outcome)).Observe(e.Took.Seconds())
//			},
//			HoldEnded: func(e redlocktrace.HoldEnded) {
//				if e.End != redlocktrace.EndUnlocked {
//					alert(e.Name, e.Err)
//				}
//			},
//		},
//	})
//
// # Calls and holds
//
// A call is one caller's attempt to lock one name at one client. It begins with CallStarted, ends
// with CallDone, and has an ID that no other call of its client has. A hold has the ID of the call
// that got it: it begins with that call's CallDone and ends with HoldEnded.
//
//   - Lock, TryLock and Do are one call each, whatever their options.
//   - LockAll is one call for each name, without waiting, and for a name that is taken another one
//     that waits. What it got behind that name is given back, so those holds end as EndUnlocked, and
//     the names are called again.
//   - A client of several sets of masters makes a call in each set where the name is locked: two while the name moves.
//   - A re-entry, by Enter or under WithOwner, is a call of its own. It makes no hold: Entered in its CallDone has the
//     call whose hold it entered. The hold ends once, with its last Unlock. Re-entries of one owner at the same time may
//     share a round, which at most one of them is told of.
//   - Extend and Downgrade are no calls: they renew a hold, which Renewed reports.
//   - A call that cannot begin is not traced: its name or its options are not valid, its context has ended or is
//     that of a hold of the same name, or its client is closed.
//
// # Concurrency
//
// The functions of one client are called one at a time, in a goroutine of their own, with no lock of
// the client held. All events of a client come in the order in which they happened, those of different
// masters as the client saw them. Several clients may share a Trace, whose functions are then called at
// the same time for different clients. An event may come a little after what it tells, even after Lock has
// returned: its Time is when it happened.
//
// A slow function delays no lock, but events wait for it in memory, so it must not block. There is room
// for some hundred locks; further events are dropped, except those about masters and sets, and ClientChanged
// says how many. Close returns once the functions have had all events, but waits no longer than half a second, or a
// NodeTimeout if that is longer; there are no events after it. A function may call the client, except for Close.
// A panic in a function ends the program.
//
// With all functions set, a Lock and an Unlock on five masters are some twenty events, which cost about
// two allocations each (BenchmarkTrace in package redlock).
//
// Votes may come after CallDone, since a call does not wait for the slowest masters. So may, while sets
// are changed, the raise by which two sets of masters agree on a token; and, where a call entered a
// hold again while it already tried as a new owner, the Decided that gives that try back. No other event of a
// call comes after it, and of a hold only Released comes after its HoldEnded.
//
// # Errors
//
// Errors in events are those that the caller gets, or that a master gave. Use errors.Is with those
// of package redlock.
package redlocktrace

// Trace is a set of functions that a client calls. Any may be nil. A client whose Trace is nil does
// and allocates nothing for it.
type Trace struct {
	// ClientChanged: a client was made, is closed, or has missed events.
	ClientChanged func(ClientChanged)

	// CallStarted: a caller wants a lock.
	CallStarted func(CallStarted)
	// Waiting: the caller did not get the lock at once, and waits from now on; or it waits at another
	// place in the queue of the masters than before.
	Waiting func(Waiting)
	// Asked: a round is sent to the masters.
	Asked func(Asked)
	// Voted: a master has answered a round, or it is known that it will not; or it has handed the lock
	// to the caller. Each master that was asked answers once.
	Voted func(Voted)
	// Decided: the votes have come to something, or what they came to is given back.
	Decided func(Decided)
	// CallDone: the caller has the lock, or an error.
	CallDone func(CallDone)

	// Renewed: a renewal has been confirmed by a majority, or not.
	Renewed func(Renewed)
	// HoldEnded: the lock was given back or lost. It comes before the release is sent.
	HoldEnded func(HoldEnded)
	// Released: the release that follows the end of a hold was confirmed, or not. It comes once for each
	// hold; or, if the client kept the lock, at once, and again when it gives the lock back. If a call takes the
	// kept lock over instead, that is a CallDone without rounds.
	Released func(Released)

	// MasterChanged: a master is up, down, refused, …
	MasterChanged func(MasterChanged)
	// Answered: a master has answered a script call.
	Answered func(Answered)

	// SetsOverlap: other clients use the masters in a way that conflicts with that of the client, with other
	// masters or with leases above a guard; or they no longer do.
	SetsOverlap func(SetsOverlap)
}
