package multilock

import (
	"time"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// kept is a lock that stays with the client after its last Unlock: it drives a [protocol.Kept].
type kept struct {
	claim Claim
	state protocol.Kept
	timer *time.Timer // fires when it is kept no longer
	trace *holdTrace  // of the hold before, nil: it is not traced
}

// maxKept bounds how many locks a client keeps.
const maxKept = 10_000

// Keep has the client keep locks for d after their last Unlock, as long as nobody else wants them. It is
// called before the first lock.
func (m *Masters) Keep(d time.Duration) {
	if m.keep = d; d > 0 {
		m.subscribe() // to hear who wants them
	}
}

// mayKeepLocked reports whether h, which has ended, may be kept as far as it goes. A renewal that is still to be
// sent would be followed by a release: see [Hold.sent].
func (h *Hold) mayKeepLocked() bool {
	return h.m.keep > 0 && h.cause == ErrNotHeld && h.state.State == protocol.Released && h.claim.Mode == script.Exclusive &&
		h.bound == nil && h.renewing == 0 && h.token < h.claim.Token
}

// park keeps what h gives back, unless somebody is known to want it or would not be heard.
func (m *Masters) park(h *Hold, claim Claim) bool {
	hears := m.canBeTold()
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[h.target]
	left := min(m.keep, m.left(h.state.Until))
	if !hears || m.closed || n == nil || n.line.first != nil || h.wanted || m.parked >= maxKept || left <= 0 {
		return false
	}
	k := &kept{claim: claim, trace: claim.trace, state: protocol.Kept{Until: h.state.Until, Token: h.token, Last: claim.Token}}
	if k.claim.trace = nil; k.trace != nil { // its release is that of no hold
		k.trace.keptLocked()
	}
	k.timer = time.AfterFunc(left, func() { m.recall(h.target, k, redlocktrace.WhyOver) })
	n.kept = k
	m.parked++
	return true
}

// takeOver makes a hold of what the client keeps, nil if it keeps nothing or too little is left of it.
//
// Cost: none.
func (m *Masters) takeOver(req Request) *Hold {
	if m.keep == 0 || req.Shared || req.Permits > 0 || !m.Admitted() {
		return nil
	}
	t := req.target()
	m.mu.Lock()
	n := m.names[t]
	if n == nil || n.kept == nil || !m.beginLocked() {
		m.mu.Unlock()
		return nil
	}
	defer m.tries.Done()
	k := n.kept
	until, ok := k.state.Take(m.now(), req.Lease, req.Watch)
	if ok {
		m.unparkLocked(n, "")
	} else {
		m.unparkLocked(n, redlocktrace.WhySpent)
	}
	m.mu.Unlock()
	if !ok {
		m.release(k.claim, 0) // ahead of the ask
		return nil
	}
	return m.newHold(req, Grant{Claim: k.claim, Until: until, First: k.state.Token})
}

// unparkLocked has n no longer kept. why is empty if it is taken over.
func (m *Masters) unparkLocked(n *name, why redlocktrace.Why) {
	if why != "" && n.kept.trace != nil {
		n.kept.trace.keptEndedLocked(why)
	}
	n.kept.timer.Stop()
	n.kept = nil
	m.parked--
}

// recall gives k back, if it is still kept.
func (m *Masters) recall(t target, k *kept, why redlocktrace.Why) {
	m.mu.Lock()
	n := m.names[t]
	if n == nil || n.kept != k {
		m.mu.Unlock()
		return
	}
	m.unparkLocked(n, why)
	m.tidyLocked(t)
	m.mu.Unlock()
	m.release(k.claim, 0)
}

// Wanted implements [node.Subscriber]: somebody else wants what owner has. A lock that is only kept is given
// back, and one that is held will not be kept.
func (m *Masters) Wanted(_ int, key, owner string) {
	t := target{key: key}
	var k *kept
	m.mu.Lock()
	if n := m.names[t]; n != nil {
		for _, h := range n.holds {
			h.wanted = h.wanted || h.id == owner
		}
		if n.kept != nil && n.kept.claim.ID == owner {
			k = n.kept
		}
	}
	m.mu.Unlock()
	if k != nil {
		m.recall(t, k, redlocktrace.WhyWanted)
	}
}

// recallAll gives back all that is kept, at masters in at, and returns the releases.
func (m *Masters) recallAll(at Set, why redlocktrace.Why) (returns []*Return) {
	var all []*kept
	m.mu.Lock()
	if m.parked > 0 {
		for t, n := range m.names {
			if n.kept != nil && n.kept.claim.At&at != 0 {
				all = append(all, n.kept)
				m.unparkLocked(n, why)
				m.tidyLocked(t)
			}
		}
	}
	m.mu.Unlock()
	for _, k := range all {
		returns = append(returns, m.release(k.claim, 0))
	}
	return returns
}
