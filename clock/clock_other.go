//go:build !linux

package clock

import "time"

// Instant is a moment in the life of this process. It means nothing to another process.
type Instant = pair

// Now returns the present instant.
//
// Round strips the monotonic reading, so that the second field follows the wall clock, which goes on
// in suspend.
func Now() Instant {
	now := time.Now()
	return Instant{mono: now.Sub(epoch), wall: now.Round(0).Sub(epoch.Round(0))}
}

// Suspended returns how long this machine has been suspended so far, or how far the wall clock was
// set ahead. Go's timers may stand still in suspend, so code that relies on one checks again when
// Suspended has grown.
func Suspended() time.Duration {
	now := Now()
	return now.wall - now.mono
}
