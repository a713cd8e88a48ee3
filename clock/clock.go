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

// Instant is a moment in the life of this process. It means nothing to another process.
//
// It is measured on two clocks, because some systems have no single clock that counts suspend and
// cannot be set. Where there is such a clock (CLOCK_BOOTTIME on Linux), both fields are equal.
type Instant struct {
	mono time.Duration // never set back, but may stand still in suspend
	wall time.Duration // counts suspend, but may be set
}

// epoch is the zero of both clocks of an Instant.
var epoch = time.Now()

// Add returns the instant d after t.
func (t Instant) Add(d time.Duration) Instant {
	return Instant{mono: t.mono + d, wall: t.wall + d}
}

// Sub returns how much time passed from u to t, by whichever clock says more.
//
// So a wall clock that was set forward ends a lease early, and one that was set back has no effect.
func (t Instant) Sub(u Instant) time.Duration {
	return max(t.mono-u.mono, t.wall-u.wall)
}

// Left returns how much time is left at t until deadline, by whichever clock says less. It is
// negative once deadline has passed.
func (t Instant) Left(deadline Instant) time.Duration {
	return -t.Sub(deadline)
}

// Since returns how much time has passed since t.
func Since(t Instant) time.Duration { return Now().Sub(t) }

// Until returns how much time is left until deadline.
func Until(deadline Instant) time.Duration { return Now().Left(deadline) }
