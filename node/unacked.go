package node

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// unackedRelease is a release that the master has not acknowledged.
type unackedRelease struct {
	cmd    *script.Command
	number uint64 // of its call
	since  time.Time

	// mayStillRun: a command of its owner was in flight when the connection broke, and the
	// master may still run it, however late.
	mayStillRun bool
}

// unackedReleases are the releases that the master has not acknowledged, one for each owner: the
// last one is enough.
//
// A release is kept until the master has answered it, or for the longest lease: what the owner
// held at the master has expired by then, unless a command of its may still run. So however
// long a master is away, no more is kept than what its client releases in one lease, and what
// was in flight when the connection broke.
type unackedReleases struct {
	byOwner  map[string]unackedRelease
	inFlight map[string]bool // owners of what was in flight when the last connection broke
}

func (u *unackedReleases) len() int { return len(u.byOwner) }

// add keeps the release c.
func (u *unackedReleases) add(c *call) {
	u.keep(unackedRelease{cmd: c.cmd.Again(), number: c.number, since: time.Now(), mayStillRun: u.inFlight[c.cmd.Owner()]})
}

// keep keeps r, unless a later release of its owner is there already.
func (u *unackedReleases) keep(r unackedRelease) {
	if u.byOwner == nil {
		u.byOwner = make(map[string]unackedRelease)
	}
	owner := r.cmd.Owner()
	if later, ok := u.byOwner[owner]; ok && later.number > r.number {
		later.mayStillRun = later.mayStillRun || r.mayStillRun
		r = later
	}
	u.byOwner[owner] = r
}

// expire drops releases of holds that have expired. maxLease is that of [Config].
func (u *unackedReleases) expire(maxLease time.Duration) {
	if maxLease <= 0 {
		return
	}
	for owner, r := range u.byOwner {
		// time.Since may stand still while the machine is suspended, which errs on the safe side.
		if !r.mayStillRun && time.Since(r.since) > maxLease+clock.Drift(maxLease) {
			delete(u.byOwner, owner)
		}
	}
}

// takeAll empties u and returns what it held, in the order of the Sends.
func (u *unackedReleases) takeAll() []unackedRelease {
	if len(u.byOwner) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Values(u.byOwner), func(a, b unackedRelease) int { return cmp.Compare(a.number, b.number) })
	u.byOwner = nil // a map never shrinks
	return list
}

// noteInFlight notes whose calls were in flight when the connection broke.
func (u *unackedReleases) noteInFlight(calls []call) {
	u.inFlight = make(map[string]bool)
	for _, c := range calls {
		for owner := range c.cmd.Owners() {
			u.inFlight[owner] = true
			if r, ok := u.byOwner[owner]; ok { // it came while the master was silent
				r.mayStillRun = true
				u.byOwner[owner] = r
			}
		}
	}
}
