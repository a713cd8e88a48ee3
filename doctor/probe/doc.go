// Package probe finds out about one Redis master what package doctor judges: over connections of its own, made as a
// client's are, and by what clients do with a lock. It serves package doctor: its API is not stable.
//
// # Concurrency
//
// [Run] may be called from any goroutine, for several masters at a time.
//
// # Errors
//
// [Facts].Err says why a client would not use the master, and the errors in [Facts].Unseen, Denials and Trials what was
// refused. They are those of package server.
package probe
