package multilock

import (
	"sync/atomic"
	"time"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// kept is a lock that stays with the client after its last Unlock: it drives a [protocol.Kept]. Each hold
// that takes the lock over has it until its own Unlock, and the timer with it: to make them anew would be
// five of the twelve allocations that such a hold costs.
type kept struct {
	claim Claim
	state protocol.Kept
	timer *time.Timer          // fires when it is kept no longer, or the validity of hold ends
	hold  atomic.Pointer[Hold] // that took it over, nil while it is only kept
	trace *holdTrace           // of the hold before, nil: it is not traced
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
	return h.m.keep > 0 && h.cause == poll.ErrNotHeld && h.state.State == protocol.Released && h.claim.Mode == script.Exclusive &&
		h.bound == nil && h.renewing == 0 && h.token < h.claim.Token
}

// park keeps what h gives back, unless somebody is known to want it or would not be heard.
func (m *Masters) park(h *Hold, claim Claim) bool {
	hears := m.canBeTold()
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[h.key]
	left := min(m.keep, m.left(h.state.Until))
	if !hears || m.Closed() || n == nil || len(n.line.waiters) > 0 || m.owners.wantedFrom(h.id) || m.parked >= maxKept || left <= 0 {
		return false
	}
	k := h.kept
	if k == nil {
		k = new(kept)
		key := h.key // or the timer would refer to h
		k.timer = time.AfterFunc(left, func() { m.keptOver(key, k) })
	}
	k.hold.Store(nil)
	k.state = protocol.Kept{Until: h.state.Until, Token: h.token, Last: claim.Token}
	k.claim, k.trace = claim, claim.trace
	if k.claim.trace = nil; k.trace != nil { // its release is that of no hold
		k.trace.keptLocked()
	}
	k.timer.Reset(left)
	n.kept = k
	m.parked++
	return true
}

// keptOver is what the timer of k does.
func (m *Masters) keptOver(key string, k *kept) {
	if h := k.hold.Load(); h != nil {
		h.expire()
		return
	}
	m.recall(key, k, redlocktrace.WhyOver)
}

// takeOver makes a hold of what the client keeps, nil if it keeps nothing, or too little is left of it, or it is
// to be shared. What it does not take over is given back ahead of the ask.
//
// Cost: none.
func (m *Masters) takeOver(req Request) *Hold {
	if m.keep == 0 || req.Permits > 0 || !m.Admitted() {
		return nil
	}
	m.mu.Lock()
	n := m.names[req.Key]
	if n == nil || n.kept == nil || !m.Begin() {
		m.mu.Unlock()
		return nil
	}
	defer m.End()
	k := n.kept
	until, ok := k.state.Take(m.now(), req.Lease, req.Watch)
	var why redlocktrace.Why
	switch {
	case req.Shared:
		why = redlocktrace.WhyWanted
	case !ok:
		why = redlocktrace.WhySpent
	}
	m.unparkLocked(n, why)
	m.mu.Unlock()
	if why != "" {
		m.release(k.claim, 0)
		return nil
	}
	return m.newHold(req, Grant{Claim: k.claim, Until: until, First: k.state.Token, kept: k})
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
func (m *Masters) recall(key string, k *kept, why redlocktrace.Why) {
	m.mu.Lock()
	n := m.names[key]
	if n == nil || n.kept != k {
		m.mu.Unlock()
		return
	}
	m.unparkLocked(n, why)
	m.tidyLocked(key)
	m.mu.Unlock()
	m.release(k.claim, 0)
}

// Wanted implements [node.Subscriber]: somebody else wants what owner has. A lock that is only kept is given
// back. One that is held will not be kept, nor one that the masters have granted but not yet said so.
func (m *Masters) Wanted(_ int, key, owner string) {
	var k *kept
	m.mu.Lock()
	if n := m.names[key]; n != nil && n.kept != nil && n.kept.claim.ID == owner {
		k = n.kept
	} else {
		m.owners.want(owner)
	}
	m.mu.Unlock()
	if k != nil {
		m.recall(key, k, redlocktrace.WhyWanted)
	}
}

// recallAll gives back all that is kept, at masters in at, and returns the releases.
func (m *Masters) recallAll(at Set, why redlocktrace.Why) (returns []*Return) {
	var all []*kept
	m.mu.Lock()
	if m.parked > 0 {
		for key, n := range m.names {
			if n.kept != nil && n.kept.claim.At&at != 0 {
				all = append(all, n.kept)
				m.unparkLocked(n, why)
				m.tidyLocked(key)
			}
		}
	}
	m.mu.Unlock()
	for _, k := range all {
		returns = append(returns, m.release(k.claim, 0))
	}
	return returns
}
