// Package clock measures how much of a lease is left. It serves package redlock: its API is not stable.
//
// A lease runs on a master's clock, and keeps running while this machine is suspended. So an
// [Instant] counts the time spent in suspend, which Go's own monotonic clock does not do on every
// system. The package also has the arithmetic of drift and validity.
//
// # Concurrency
//
// Every function may be called from any goroutine.
//
// # Testing
//
// Now is built on [time.Now], so in a testing/synctest bubble it follows the bubble's time.
package clock

import "time"

// epoch is the zero of the clocks of an [Instant].
var epoch = time.Now()

// boot is an instant by one clock, which counts suspend and cannot be set.
type boot struct{ at time.Duration }

// Add returns the instant d after t.
func (t boot) Add(d time.Duration) boot { return boot{t.at + d} }

// Sub returns how much time passed from u to t.
func (t boot) Sub(u boot) time.Duration { return t.at - u.at }

// Left returns how much time is left at t until deadline. It is negative once deadline has passed.
func (t boot) Left(deadline boot) time.Duration { return deadline.at - t.at }

// pair is an instant by two clocks, where no clock both counts suspend and cannot be set.
type pair struct {
	mono time.Duration // never set back, but may stand still in suspend
	wall time.Duration // counts suspend, but may be set
}

// Add returns the instant d after t.
func (t pair) Add(d time.Duration) pair { return pair{mono: t.mono + d, wall: t.wall + d} }

// Sub returns how much time passed from u to t, by whichever clock says more.
//
// So a wall clock that was set forward ends a lease early, and one that was set back has no effect.
func (t pair) Sub(u pair) time.Duration { return max(t.mono-u.mono, t.wall-u.wall) }

// Left returns how much time is left at t until deadline, by whichever clock says less. It is
// negative once deadline has passed.
func (t pair) Left(deadline pair) time.Duration { return -t.Sub(deadline) }

// Since returns how much time has passed since t.
func Since(t Instant) time.Duration { return Now().Sub(t) }

// Until returns how much time is left until deadline.
func Until(deadline Instant) time.Duration { return Now().Left(deadline) }
