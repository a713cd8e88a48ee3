package judge

import (
	"fmt"
	"time"

	"example.com/redlock/internal/history"
)

// Deadlines is the check that calls return when their contexts end, and that calls that do not wait return soon.
const Deadlines = "deadlines"

// lateReturn is how long after its deadline a call may return.
const lateReturn = 100 * time.Millisecond

// deadlines checks that each call that has a deadline, or does not wait, returned in time. Time in which its process did
// not run does not count. All other calls must return at all, unless their process was killed.
func deadlines(r *record) Check {
	check := Check{Name: Deadlines}
	for _, c := range r.Calls {
		check.Looked++
		ended := min(c.Returned, r.ran(c.Who))
		if c.Returned == history.Never && !r.killed(c.Who) {
			check.add(r, ended, fmt.Sprintf("%s: %s never returned", c.Who, c.Do), c.Event)
			continue
		}
		due, grace, why := r.due(c, ended)
		if !r.late(due, grace, ended, c.Who) {
			continue
		}
		last := history.Event{At: r.ended(c.Who), What: history.Killed, Who: c.Who}
		if c.Result != nil {
			last = *c.Result
		}
		check.add(r, due+grace, fmt.Sprintf("%s: %s went on for %v after %s", c.Who, c.Do, round(ended-due), why), c.Event, last)
	}
	return check
}

// due returns when a call should have returned that ended at ended, by how much it may be late, and what that time is
// counted from.
func (r *record) due(c *history.Call, ended time.Duration) (due, grace time.Duration, why string) {
	due = history.Never - time.Hour
	if c.Deadline > 0 {
		due, grace, why = c.Deadline, lateReturn, "its deadline"
	}
	if most := r.most(c, ended); most > 0 && c.At+most < due+grace {
		due, grace, why = c.At, most, "it began"
	}
	return due, grace, why
}

// most returns how long a call that does not wait may take, with or without a deadline. It returns 0 for one that waits.
//
// What bounds it is how long a master may take to answer. Unlock, Extend and Downgrade ask once, and again
// where the master has lost its scripts. A try asks up to six times more where its votes are split, after a
// random pause, and then for the holder's name. Close lets releases and goroutines end, for two such times. A process
// that lacks time gives a master up to twice as long, so as not to take its own lateness for the master's.
func (r *record) most(c *history.Call, ended time.Duration) time.Duration {
	timeout := r.Run.NodeTimeout
	if r.away(history.Span{From: c.At, To: ended}, c.Who) > 0 {
		timeout *= 2
	}
	switch {
	case c.Do == history.Unlock, c.Do == history.Leave, c.Do == history.Extend, c.Do == history.Downgrade, c.Do == history.CloseClient:
		return 2*timeout + lateReturn
	case c.Do.Takes() && !c.Do.Waits():
		return 7*timeout + time.Second
	}
	return 0
}
