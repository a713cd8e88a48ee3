package clock

import "time"

// driftFloor covers the granularity of expiry on a master (1 ms) and of this process's timers.
const driftFloor = 2 * time.Millisecond

// Drift returns how much of lease is set aside because a master's clock may run faster than ours: a
// hundredth of lease, plus 2 ms.
//
// Source: docs/how-it-works.md, "Validity".
func Drift(lease time.Duration) time.Duration {
	return lease/100 + driftFloor
}

// Validity returns how long a hold is still valid when elapsed has passed since the commands that
// took or renewed it for lease were sent. If it is zero or less, the hold is not valid.
//
// Source: docs/how-it-works.md, "Validity".
func Validity(lease, elapsed time.Duration) time.Duration {
	return lease - elapsed - Drift(lease)
}
