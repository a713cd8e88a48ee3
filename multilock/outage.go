package multilock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
)

// What the log says of an outage: that it has begun, and why, and that it is over. All names and holds of a client suffer
// from it together, each of them at every try, and the log has it once.

// outage is what lacks a quorum: names that callers wait for, or holds to be renewed. Masters.mu guards it.
type outage[K comparable] struct {
	lacks   map[K]bool
	all     int             // how many have lacked it since the first of these
	reasons map[string]bool // that the log was told
}

// maxReasons bounds the reasons in one outage that the log is told, since masters may say anything.
const maxReasons = 64

// note notes why k lacks a quorum, nil if it does not. It reports whether the log should say so: k is the first, or the
// reason is new. If k was the last that lacked a quorum, over is how many did in this outage; otherwise it is 0.
func (o *outage[K]) note(k K, why *poll.MajorityError) (news bool, over int) {
	if why == nil {
		lacked := o.lacks[k]
		if delete(o.lacks, k); lacked && len(o.lacks) == 0 {
			over = o.all
		}
		return false, over
	}
	if len(o.lacks) == 0 {
		*o, news = outage[K]{lacks: make(map[K]bool), reasons: make(map[string]bool)}, true
	}
	if !o.lacks[k] {
		o.lacks[k] = true
		o.all++
	}
	for _, reason := range why.Reasons() {
		if !o.reasons[reason] && len(o.reasons) < maxReasons {
			o.reasons[reason], news = true, true
		}
	}
	return news, 0
}

// report tells the log what the callers in the line of key wait for when that is not another owner,
// again when there are other reasons, and, with a nil why, when it is over for all names.
func (m *Masters) report(key string, why *poll.MajorityError) {
	if why != nil && !errors.Is(why, poll.ErrNoQuorum) {
		why = nil
	}
	var news bool
	var all int
	ctx := context.Background()
	m.mu.Lock()
	n := m.names[key]
	waits := n != nil && len(n.line.waiters) > 0
	if waits {
		ctx = n.line.waiters[0].req.Entry.Context()
	}
	if why == nil || waits {
		news, all = m.ungranted.note(key, why)
	}
	m.mu.Unlock()
	_, name := called(key)
	switch {
	case all > 0:
		m.All.Log.InfoContext(ctx, "redlock: quorum is back", "names", all)
	case !news:
	case why.Guard > 0:
		m.All.Log.WarnContext(ctx, "redlock: waiting for masters that restarted lately", "name", name, "left", why.Guard.Round(time.Millisecond), "error", why.Nodes)
	default:
		m.All.Log.WarnContext(ctx, "redlock: waiting for a quorum", "name", name, "error", why.Nodes)
	}
}

// reportRenewalLocked tells the log what became of a renewal of h that was due: of all that fail, the first and those with
// other reasons, and when it is over for all holds. The mutex of the driver is held.
func (m *Masters) reportRenewalLocked(h *Hold) {
	why, left, ctx := h.failed, m.left(h.d.state.Until), h.room[0].Context()
	m.mu.Lock()
	held := m.held
	news, all := m.unrenewed.note(h, why)
	m.mu.Unlock()
	switch {
	case all > 0:
		m.All.Log.InfoContext(ctx, "redlock: renewals succeed again", "holds", all)
	case news:
		m.All.Log.WarnContext(ctx, "redlock: renewal failed", "name", h.Name(), "left", left.Round(time.Millisecond), "holds", held, "error", why)
	}
}

// losses are the holds that were lost lately. Masters.mu guards it.
type losses struct {
	since clock.Instant // when the first of them was
	n     int
}

// Of the holds that are lost within lossesFor, the log names maxLosses, and counts the others.
const (
	lossesFor = 10 * time.Second
	maxLosses = 5
)

// reportEnd tells the log of h, which has ended, if it was lost.
func (m *Masters) reportEnd(h *Hold) {
	if !errors.Is(h.cause, poll.ErrLost) {
		return
	}
	m.mu.Lock()
	if m.losses.n++; m.losses.n == 1 {
		m.losses.since = clock.Now()
	}
	named := m.losses.n <= maxLosses
	m.mu.Unlock()
	if named {
		m.All.Log.WarnContext(h.room[0].Context(), "redlock: hold is lost", "name", h.Name(), "owner", h.Owner(), "error", h.cause)
	}
}

// reportLosses tells the log how many more holds were lost, once the first of them was that long ago.
func (m *Masters) reportLosses(after time.Duration) {
	more := 0
	m.mu.Lock()
	if l := &m.losses; l.n > 0 && clock.Since(l.since) >= after {
		more = l.n - maxLosses
		*l = losses{}
	}
	m.mu.Unlock()
	if more > 0 {
		m.All.Log.Warn("redlock: more holds are lost", "holds", more)
	}
}
