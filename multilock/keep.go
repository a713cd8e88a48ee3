package multilock

import (
	"time"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/redlocktrace"
)

// maxKept bounds how many locks a client keeps.
const maxKept = 10_000

// Keep has the client keep locks for d after their last Unlock, as long as nobody else wants them. It is
// called before the first lock.
func (m *Masters) Keep(d time.Duration) {
	if m.conf.Keep = d; d > 0 {
		m.subscribe() // to hear who wants them
	}
}

// takeOver makes a hold of what the client keeps. It is nil if the client keeps nothing; and if too little is left of it,
// or the caller wants to share, which gives it back before the caller asks. w is the caller's place in the client's line,
// nil if it has none: a caller that stands behind others overtakes nobody.
//
// Cost: none.
func (m *Masters) takeOver(req *Request, w *waiter) *Hold {
	if m.conf.Keep == 0 || req.Permits > 0 || !m.Clients.Admitted() {
		return nil
	}
	m.mu.Lock()
	d := m.keptLocked(req.Key, w)
	m.mu.Unlock()
	if d == nil || !m.All.Begin() {
		return nil
	}
	defer m.All.End()
	d.mu.Lock()
	m.mu.Lock()
	var h *Hold
	if m.keptLocked(req.Key, w) == d && d.state.State == attempt.Kept {
		d.stepLocked(&attempt.Event{Kind: attempt.Enter, Key: req.Entry, Wish: req.wish(), Shared: req.Shared})
		if d.state.State == attempt.Held {
			m.names[req.Key].kept = nil
			m.parked--
			h = d.holdLocked(req, new(Hold))
			if d.trace != nil {
				*d.trace = attemptTrace{call: req.trace, of: d.state.Try}
			}
		}
	}
	m.mu.Unlock()
	d.mu.Unlock()
	d.drain() // the end of the hold before, or the release that is to come ahead of the ask
	return h
}

// keptLocked returns what is kept of key, nil if w may not have it.
func (m *Masters) keptLocked(key string, w *waiter) *driver {
	n := m.names[key]
	if n == nil || len(n.line.waiters) > 0 && n.line.waiters[0] != w {
		return nil
	}
	return n.kept
}

// unkeep forgets what was kept, whose release is sent.
func (m *Masters) unkeep(d *driver) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names[d.key].kept = nil
	m.parked--
	m.tidyLocked(d.key)
}

// recall gives back what is kept. The masters may have forgotten it, or cannot say that it is wanted. Once the client is
// closed, Close does.
func (m *Masters) recall() {
	if m.All.Begin() {
		defer m.All.End()
		for _, d := range m.owners.all() {
			d.mu.Lock()
			if d.state.State == attempt.Kept {
				d.stepLocked(&attempt.Event{Kind: attempt.End})
			}
			d.mu.Unlock()
			d.flush()
		}
	}
}

// Wanted implements [node.Subscriber]: somebody else wants what owner has. A lock that is only kept is given
// back. One that is held will not be kept, nor one that the masters have granted but not yet said so.
func (m *Masters) Wanted(_ int, _, owner string) {
	if d := m.owners.find(owner); d != nil && m.All.Begin() {
		defer m.All.End()
		d.mu.Lock()
		if d.owner.ID == owner {
			d.stepLocked(&attempt.Event{Kind: attempt.Wanted, Try: d.state.Try})
		}
		d.mu.Unlock()
		d.flush()
	}
}

// given says why what was kept is kept no longer, by what happened to it.
func (m *Masters) given(ev *attempt.Event) redlocktrace.Why {
	switch {
	case ev.Kind == attempt.Due:
		return redlocktrace.WhyOver
	case ev.Kind == attempt.Wanted, ev.Kind == attempt.Enter && ev.Shared:
		return redlocktrace.WhyWanted
	case ev.Kind == attempt.Enter:
		return redlocktrace.WhySpent
	case m.All.Closed():
		return redlocktrace.WhyClosed
	}
	return redlocktrace.WhyDoubted
}
