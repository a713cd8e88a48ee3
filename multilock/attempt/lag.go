package attempt

import (
	"time"

	"example.com/redlock/quorum"
)

// Lag is by how much the client's clock is behind, as far as a majority of the masters shows it.
//
// A machine that was paused may not know of it: its clock stood still, and validity with it, while the
// leases at the masters went on. Or a majority of the masters' clocks jumped, which comes to the same:
// what a majority voted for ends that much earlier. So the client's clock is set ahead by what q
// masters have gained on it. Everything that was counted from an earlier instant, be it a hold, the
// votes of an attempt or a renewal that is under way, is shorter at once by just that.
//
// What fewer than q masters have gained is kept until it is known not to matter any more: other masters
// may yet show the same.
type Lag struct {
	More [Max]time.Duration // that each master has gained, and what Gained has returned does not account for
}

// Gained notes that the clock of master i has gained d, at most, and returns by how much more the client's is behind.
func (l *Lag) Gained(conf *Config, i int, d time.Duration) time.Duration {
	l.More[i] = min(l.More[i], 1<<63-1-d) + d // or it would overflow
	last := quorum.Term(l.More[:conf.Masters])
	if last < 0 {
		return 0
	}
	d = l.More[last]
	for i := range l.More {
		l.More[i] = max(0, l.More[i]-d)
	}
	return d
}

// Steady notes that what master i has gained does not matter any more: what it voted for before has
// ended.
func (l *Lag) Steady(i int) { l.More[i] = 0 }
