package redlock

import (
	"errors"
	"time"

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
	before, news := t.c.lines[t.name].heard(why)
	t.c.mu.Unlock()
	log := t.c.cfg.Logger
	switch {
	case why == nil && before:
		log.Info("redlock: quorum is back", "name", t.name)
	case !news:
	case why.Guard > 0:
		log.Warn("redlock: waiting for masters that restarted lately", "name", t.name, "left", why.Guard.Round(time.Millisecond), "error", why.Nodes)
	default:
		log.Warn("redlock: waiting for a quorum", "name", t.name, "error", why.Nodes)
	}
}

// heard notes the reasons of an outage, and its end, when why is nil. It reports whether there was
// an outage before, and whether a reason is new in it. Client.mu is held.
func (l *line) heard(why *MajorityError) (before, news bool) {
	before = l.outage != nil
	if why == nil {
		l.outage = nil
		return before, false
	}
	if !before {
		l.outage = make(map[string]bool)
	}
	for _, reason := range why.Reasons() {
		news = news || !l.outage[reason]
		l.outage[reason] = true
	}
	return before, news || !before
}
