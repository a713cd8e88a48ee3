// Package twin does in Go what the Lua scripts do at a master, for one lock, on a plain value: for
// the search in verify/model, which makes millions of copies of it, and for random walks that hold it
// against the scripts themselves. It serves these two: its API is not stable.
//
// A [Lock] has no pointers and is comparable, so a copy is an assignment and two are the same state
// if they are equal. A master that restarts empty is the zero Lock; one that restarts with what was
// on its disk is an older copy. Each method is the script of the same name and returns a [Reply]:
// the answer, and what the script published. No method allocates.
//
// # What comes in
//
// Owners are numbers above 0. now is the instant by the master's clock, in ms and at least 0; every
// method first drops what has run out by then. (A key of Redis is there for all of its last
// millisecond, and here until that begins: no lease is longer than there.) Who hears a message
// is up to the caller, see [Hears].
//
// # Guarded masters
//
// Whether a master is guarded or its clock unsteady is not known here, as it is not to a script: the
// caller sends a guarded master an Acquire with lease 0; a Renew without
// heal; and releases with [NoToken].
//
// # What is left out
//
// The time to live of the fencing counter: proposals follow clocks, and what becomes of a counter
// that is lost early a restart shows. Keys of another type than a hash, which differ from a foreign
// hash only in that a release fails as well. How many of a queue one step looks at: a queue here is shorter. Masters that have no memory left.
//
// # Concurrency
//
// A Lock is a value: whoever shares one sees to that.
package twin
