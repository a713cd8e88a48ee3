package multilock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/redlocktrace"
)

// waitForTime is greet for a caller that waits: until the masters' time is known, however long that
// takes. Meanwhile the log and the call are told why it is not.
//
// Cost: nothing is sent.
func (m *Masters) waitForTime(ctx context.Context, w *waiter) error {
	if m.KnowsTime() {
		return nil
	}
	return m.Await(ctx, func() error {
		why := m.NoTime(w.op(), w.key)
		switch {
		case why == nil:
			return nil
		case why.Hopeless():
			return why // it is no wait
		}
		m.report(w.target, why)
		if w.trace != nil {
			w.trace.waits(0, why)
		}
		return why
	})
}

// What becomes of votes when their masters turn out to have given them up early.

// lag is by how much this machine's clock is known to be behind.
type lag struct {
	missed atomic.Int64 // state.Missed

	mu    sync.Mutex
	state protocol.Lag
}

// now returns the present instant, by which all is counted that a majority of the masters voted for.
func (m *Masters) now() clock.Instant { return clock.Now().Add(time.Duration(m.lag.missed.Load())) }

// left returns how much time is left until at, which was made by now.
func (m *Masters) left(at clock.Instant) time.Duration { return m.now().Left(at) }

// asleep returns for how long timers are known to have stood still so far.
func (m *Masters) asleep() time.Duration { return suspended() + time.Duration(m.lag.missed.Load()) }

// Gained implements [node.Observer].
func (m *Masters) Gained(i int, most time.Duration) {
	l := &m.lag
	l.mu.Lock()
	missed := l.state.Gained(&m.conf, i, most)
	l.missed.Store(int64(l.state.Missed))
	l.mu.Unlock()
	if missed > 0 {
		m.Log.Warn("redlock: this machine's clock stood still, or those of a majority of the masters jumped: holds end earlier", "by", missed)
		m.dog.look()
	}
}

// Steady implements [node.Observer].
func (m *Masters) Steady(i int) {
	m.lag.mu.Lock()
	defer m.lag.mu.Unlock()
	m.lag.state.Steady(i)
}

// RanAhead implements [node.Observer].
func (m *Masters) RanAhead(i int) {
	for _, c := range m.owners.contests() {
		c.step(&protocol.Event{Kind: protocol.Doubt, Master: i})
	}
	m.Restarted(i)
}

// Restarted implements [node.Observer]. Holds that master i may have voted for are renewed at once: they
// are lost if a majority does not have them.
func (m *Masters) Restarted(i int) {
	for _, h := range m.holds() {
		h.step(protocol.HoldEvent{Kind: protocol.HoldDoubt, At: 1 << i}, nil)
	}
	m.recallAll(1<<i, redlocktrace.WhyDoubted)
}
