// Package clock tells how much of a lease is left.
//
// A lease runs on a master's clock, and it goes on running while this machine is
// suspended. So an [Instant] counts the time spent in suspend, which Go's own
// monotonic clock does not on every system, and the arithmetic of drift and
// validity stands beside it.
//
// # Concurrency
//
// Every function may be called from any goroutine.
//
// # Testing
//
// Now is built on [time.Now], so inside a testing/synctest bubble it follows the
// bubble's time.
package clock

import "time"

// Instant is a moment of this process's life. It means nothing to another process.
//
// It is kept on two clocks, because some systems have no single one that both
// counts suspend and cannot be set. Where there is such a clock (CLOCK_BOOTTIME on
// Linux) both fields tell the same.
type Instant struct {
	mono time.Duration // never set back, may stand still in suspend
	wall time.Duration // counts suspend, may be set
}

// epoch is where both clocks of an Instant begin to count.
var epoch = time.Now()

// Add returns the instant d after t.
func (t Instant) Add(d time.Duration) Instant {
	return Instant{mono: t.mono + d, wall: t.wall + d}
}

// Sub returns how much time passed from u to t, by the clock that says more.
//
// A wall clock that was set forward therefore ends a lease early, and one that was
// set back has no say.
func (t Instant) Sub(u Instant) time.Duration {
	return max(t.mono-u.mono, t.wall-u.wall)
}

// Left returns how much time is left at t until deadline, by the clock that says
// less. It is negative once deadline has passed.
func (t Instant) Left(deadline Instant) time.Duration {
	return -t.Sub(deadline)
}

// Since returns how much time passed since t.
func Since(t Instant) time.Duration { return Now().Sub(t) }

// Until returns how much time is left until deadline.
func Until(deadline Instant) time.Duration { return Now().Left(deadline) }
