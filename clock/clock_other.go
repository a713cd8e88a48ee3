//go:build !linux

package clock

import "time"

// Now returns the present instant.
//
// Round strips the monotonic reading, so that the second field follows the wall
// clock, which goes on in suspend.
func Now() Instant {
	now := time.Now()
	return Instant{mono: now.Sub(epoch), wall: now.Round(0).Sub(epoch.Round(0))}
}

// Suspended returns how long this machine was in suspend so far, or by how much the wall clock
// was set ahead. It is for those whose timers stand still in suspend, as Go's may: they look
// again when it has grown.
func Suspended() time.Duration {
	now := Now()
	return now.wall - now.mono
}
