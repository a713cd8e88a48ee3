package node

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"example.com/redlock/clock"
)

// unackedReleases are the releases that the master has not acknowledged, one for each owner: the
// last one is enough.
//
// A release is kept until the master has answered it, or for the longest lease: what the owner
// held at the master has expired by then, unless a command of its may still run. So however
// long a master is away, no more is kept than what its client releases in one lease, and what
// was in flight when the connection broke.
type unackedReleases struct {
	byOwner  map[string]call
	inFlight map[string]bool // owners of what was in flight when the last connection broke
}

func (u *unackedReleases) len() int { return len(u.byOwner) }

// add keeps the release c from now on.
func (u *unackedReleases) add(c *call) {
	u.keep(call{cmd: c.cmd.Again(), number: c.number, sent: clock.Now(), mayStillRun: u.inFlight[c.cmd.Owner()]})
}

// keep keeps c, unless a later release of its owner is there already.
func (u *unackedReleases) keep(c call) {
	if u.byOwner == nil {
		u.byOwner = make(map[string]call)
	}
	owner := c.cmd.Owner()
	if later, ok := u.byOwner[owner]; ok && later.number > c.number {
		later.mayStillRun = later.mayStillRun || c.mayStillRun
		c = later
	}
	u.byOwner[owner] = c
}

// expire drops releases of holds that have expired. maxLease is that of [Config].
func (u *unackedReleases) expire(maxLease time.Duration) {
	maps.DeleteFunc(u.byOwner, func(_ string, c call) bool {
		return maxLease > 0 && !c.mayStillRun && clock.Since(c.sent) > maxLease+clock.Drift(maxLease)
	})
}

// takeAll empties u and returns what it held, in the order of the Sends.
func (u *unackedReleases) takeAll() []call {
	if len(u.byOwner) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Values(u.byOwner), func(a, b call) int { return cmp.Compare(a.number, b.number) })
	u.byOwner = nil // a map never shrinks
	return list
}

// noteInFlight notes whose calls were in flight when the connection broke.
func (u *unackedReleases) noteInFlight(calls []call) {
	u.inFlight = make(map[string]bool)
	for _, c := range calls {
		for owner := range c.cmd.Owners() {
			u.inFlight[owner] = true
			if c, ok := u.byOwner[owner]; ok { // it came while the master was silent
				c.mayStillRun = true
				u.byOwner[owner] = c
			}
		}
	}
}
