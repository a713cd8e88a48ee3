// Package workload is what the client processes of a trial do, and the clients of redlock's simulation: they take locks
// and permits in every way there is, and record all of it.
//
// [Main] is the main function of such a process, and a [Process] is its callers. A [Locker] stands between them and
// package redlock, so that the tests have a library that breaks its promises.
//
// Each caller is a goroutine that thinks, makes a visit, and thinks again, all drawn from the process's
// seed. A visit takes a lock, writes to what it protects, stays a while, and unlocks.
//
// # What is recorded, and when
//
// Every event is true whenever the process was stopped: between any two instructions. So a call is recorded
// before it begins and after it has returned, and that a hold is alive with a time from before anybody
// looked.
//
//	at := now()                          // 12.000 s
//	alive := hold.Context().Err() == nil // true: so it was, at 12.000 s
//	record(Alive{At: at})                // perhaps at 15 s, since the process was stopped
//
// Validity is recorded on the clock of the history, as the time that a hold says is left: the process's
// wall clock may be wrong.
//
// # Concurrency
//
// A process has a goroutine for each caller, one for each hold that watches its context, and one that
// notices when the process did not run. Its end waits for all of them, but not forever for callers: a call
// that never returns is in the history as one.
//
// # Errors
//
// An error that the library does not document is an event with [history.Unknown] and its text, and so is a
// panic in one of the library's methods.
package workload
