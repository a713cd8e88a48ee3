package redlocktrace

import "time"

// ClientChanged is a change of the client itself.
type ClientChanged struct {
	Client  string // its uuid: the first part of its owners, "uuid:rN"
	Time    time.Time
	State   ClientState
	Masters []string // of ClientStarted: as errors name them; must not be changed
	Missed  int      // of ClientMissed: how many events were dropped
}

// ClientState is what has become of a client.
type ClientState string

const (
	ClientStarted ClientState = "started" // its first event
	ClientMissed  ClientState = "missed"  // the functions are too slow: what has begun may have ended unseen
	ClientClosed  ClientState = "closed"  // Close is about to return: its last event
)

// SetsOverlap says that other clients use the masters in a way that conflicts with that of the client.
type SetsOverlap struct {
	Client string // see ClientChanged
	Time   time.Time
	Other  string // their masters: addresses, or short run ids
	Err    error  // a ConflictError; nil: it is over
}

// MasterChanged is a change of what a master can do. The log has it at the same time.
type MasterChanged struct {
	Client string // see ClientChanged
	Time   time.Time
	Master string // as errors name it
	State  State
	RunID  string        // of StateUp: the process
	Guard  time.Duration // of StateUp and StateGuarded: how long it grants no holds yet
	Ahead  time.Duration // of StateUnsteady: how far its clock ran ahead
	Err    error         // why its votes do not count: of StateDown, StateRefused, StateGuarded and StateUnsteady
}

// State is where a master stands.
type State string

const (
	StateUp       State = "up"       // connected
	StateDown     State = "down"     // not reached; it is probed about every half second
	StateRefused  State = "refused"  // reached, but it must not vote or does not let the client in
	StateGuarded  State = "guarded"  // follows StateUp: it restarted lately, and grants no holds yet
	StateGranting State = "granting" // the guard is over
	StateUnsteady State = "unsteady" // its clock ran ahead: its votes do not count
	StateSteady   State = "steady"   // they count again
	StateBehind   State = "behind"   // its clock was set back or runs slow, which is safe
)

// Answered is an answer of a master to a script call, or an error in its place. One call renews several
// holds; any other does one thing with one name.
type Answered struct {
	Client string // see ClientChanged
	Time   time.Time
	Master string
	Steps  int           // how many holds it renews, else 1
	Took   time.Duration // from when it was sent
	Err    error         // of the call as a whole
}
