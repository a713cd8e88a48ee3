package multilock

import (
	"sync/atomic"
	"time"

	"example.com/redlock/multilock/protocol"
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
	gone  chan struct{}        // closed once its release is sent; nil until it is given back
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

// park keeps what h gives back, unless somebody is known to want it or would not be heard, or a master that it
// rests on may have forgotten it.
//
// All this is looked at with mu held, and so is what is kept when any of it changes: what comes too early for the
// one is found by the other.
func (m *Masters) park(h *Hold, claim Claim, state protocol.Kept) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[h.key]
	left := min(m.keep, m.left(state.Until))
	switch {
	case n == nil || n.kept != nil || m.parked >= maxKept:
		return false
	case m.Closed() || !m.canBeTold():
		return false
	case len(n.line.waiters) > 0 || m.owners.wantedFrom(h.id) || m.owners.doubted(h.id)&claim.At != 0:
		return false
	}
	k := h.kept
	if k == nil {
		k = new(kept)
		key := h.key // or the timer would refer to h
		k.timer = time.AfterFunc(left, func() { m.keptOver(key, k) })
	}
	k.hold.Store(nil)
	k.state = state
	k.claim, k.trace = claim, claim.trace
	if k.claim.trace = nil; k.trace != nil { // its release is that of no hold
		k.trace.keptLocked("")
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
// to be shared. What it does not take over is given back ahead of the ask. Nobody is overtaken who stands in the
// client's line: w is the caller's own place there, nil if it has none.
//
// Cost: none.
func (m *Masters) takeOver(req Request, w *waiter) *Hold {
	if m.keep == 0 || req.Permits > 0 || !m.Admitted() {
		return nil
	}
	m.mu.Lock()
	n := m.names[req.Key]
	if n == nil || n.kept == nil || len(n.line.waiters) > 0 && n.line.waiters[0] != w {
		m.mu.Unlock()
		return nil
	}
	k := n.kept
	if k.gone != nil {
		m.mu.Unlock()
		<-k.gone // or what is asked for now may come ahead of its release, and find it there
		return nil
	}
	if !m.Begin() {
		m.mu.Unlock()
		return nil
	}
	defer m.End()
	until, ok := k.state.Take(m.now(), req.Lease, req.Watch)
	switch {
	case req.Shared:
		m.leaveLocked(k, redlocktrace.WhyWanted)
	case !ok:
		m.leaveLocked(k, redlocktrace.WhySpent)
	default:
		k.timer.Stop()
		n.kept = nil
		m.parked--
		m.mu.Unlock()
		return m.newHold(req, Grant{Claim: k.claim, Until: until, First: k.state.Token, kept: k})
	}
	m.mu.Unlock()
	m.giveBack(req.Key, k)
	return nil
}

// leaveLocked has k, which is kept, no longer be taken over. The caller counts as an operation under way, which
// Close waits for, and calls giveBack.
func (m *Masters) leaveLocked(k *kept, why redlocktrace.Why) {
	if k.trace != nil {
		k.trace.keptLocked(why)
	}
	k.timer.Stop()
	k.gone = make(chan struct{})
}

// giveBack sends the release of k, which leaves. Until then it is there for whoever asks for key.
func (m *Masters) giveBack(key string, k *kept) *Return {
	r := m.release(k.claim, 0)
	m.mu.Lock()
	m.names[key].kept = nil
	m.parked--
	m.tidyLocked(key)
	m.mu.Unlock()
	close(k.gone)
	return r
}

// recall gives k back, if it is still kept. Once the client is closed, Close does.
func (m *Masters) recall(key string, k *kept, why redlocktrace.Why) {
	m.mu.Lock()
	n := m.names[key]
	if n == nil || n.kept != k || k.gone != nil || !m.Begin() {
		m.mu.Unlock()
		return
	}
	defer m.End()
	m.leaveLocked(k, why)
	m.mu.Unlock()
	m.giveBack(key, k)
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

// recallDoubted gives back all that is kept at masters in at: they may have forgotten it, or cannot say that it is
// wanted. Once the client is closed, Close does.
func (m *Masters) recallDoubted(at Set) {
	if m.Begin() {
		defer m.End()
		m.recallAll(at, redlocktrace.WhyDoubted, func(*Return) {})
	}
}

// recallAll gives back all that is kept at masters in at, and calls sent with each release.
func (m *Masters) recallAll(at Set, why redlocktrace.Why, sent func(*Return)) {
	leaving := make(map[string]*kept)
	m.mu.Lock()
	if m.parked > 0 {
		for key, n := range m.names {
			if k := n.kept; k != nil && k.gone == nil && k.claim.At&at != 0 {
				m.leaveLocked(k, why)
				leaving[key] = k
			}
		}
	}
	m.mu.Unlock()
	for key, k := range leaving {
		sent(m.giveBack(key, k))
	}
}
