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
