package multilock

import (
	"errors"
	"time"

	"example.com/redlock/multilock/poll"
)

// outage has the reasons for too few masters that the log was told. It is nil as long as enough of
// them answer.
type outage map[string]bool

// report tells the log what the callers that wait for t wait for when that is not another owner,
// again when the reasons change, and, with a nil why, when it is over.
func (m *Masters) report(t target, why *poll.MajorityError) {
	if why != nil && !errors.Is(why, poll.ErrNoQuorum) {
		why = nil
	}
	m.mu.Lock()
	before, news := false, false
	if n := m.names[t]; n != nil {
		before, news = n.outage.heard(why)
	}
	m.mu.Unlock()
	switch {
	case why == nil && before:
		m.Log.Info("redlock: quorum is back", "name", t.key)
	case !news:
	case why.Guard > 0:
		m.Log.Warn("redlock: waiting for masters that restarted lately", "name", t.key, "left", why.Guard.Round(time.Millisecond), "error", why.Nodes)
	default:
		m.Log.Warn("redlock: waiting for a quorum", "name", t.key, "error", why.Nodes)
	}
}

// heard notes the reasons of an outage, and its end, when why is nil. It reports whether there was
// an outage before, and whether a reason is new in it.
func (o *outage) heard(why *poll.MajorityError) (before, news bool) {
	before = *o != nil
	if why == nil {
		*o = nil
		return before, false
	}
	if !before {
		*o = make(outage)
	}
	for _, reason := range why.Reasons() {
		news = news || !(*o)[reason]
		(*o)[reason] = true
	}
	return before, news || !before
}
