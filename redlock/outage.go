package redlock

import (
	"errors"

	"example.com/redlock/multilock"
)

var _ multilock.Waiter = (*turn)(nil)

// Outage implements [multilock.Waiter]: the log is told what the callers of a line wait for when
// that is not another owner, again when the reasons change, and when it is over.
func (t *turn) Outage(why *MajorityError) {
	if why != nil && !errors.Is(why, ErrNoQuorum) {
		why = nil
	}
	t.c.mu.Lock()
	l := t.c.lines[t.name]
	before := l.outage
	known := why != nil && before != nil && before.Covers(why)
	if !known {
		l.outage = why
	}
	t.c.mu.Unlock()
	log := t.c.cfg.Logger
	switch {
	case known || why == nil && before == nil:
	case why == nil:
		log.Info("redlock: quorum is back", "name", t.name)
	case why.Guard > 0:
		log.Warn("redlock: waiting for masters that restarted lately", "name", t.name, "left", why.Guard, "error", why.Nodes)
	default:
		log.Warn("redlock: waiting for a quorum", "name", t.name, "error", why.Nodes)
	}
}
