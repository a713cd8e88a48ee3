package multilock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/quorum"
	"example.com/redlock/redlocktrace"
)

// Now returns the time by the masters' clocks: their median, in which this process's clock stands in
// for each master whose time is not known yet. Waiters' stamps and proposed fencing tokens are taken
// from it. So they depend neither on the clocks of clients nor on those of a minority of the masters,
// unless both are wrong in the same way.
func (m *Masters) Now() time.Time {
	now, _ := m.clocks()
	return now
}

// clocks returns Now, and how many masters have told, or refused to.
func (m *Masters) clocks() (median time.Time, told int) {
	now, own := clock.Now(), time.Now()
	var room [Max]int64
	shown := room[:0]
	for _, n := range m.nodes {
		t, ok := n.Time(now)
		if ok {
			told++
		} else {
			t = own
		}
		shown = append(shown, t.UnixMicro())
	}
	slices.Sort(shown)
	return time.UnixMicro(shown[(len(shown)-1)/2]), told
}

// stamp returns what the masters' clocks showed at i. A waiter keeps its stamp for good, so none is made
// before the masters' time is known.
func (m *Masters) stamp(i clock.Instant) time.Time { return m.Now().Add(-clock.Since(i)) }

// knowsTime reports whether a majority of the masters has told its time, or refused to. Until then Now
// may show our own clock, and no lock is asked for: a fencing counter that took over a token by our
// clock would keep it, and so would the queue a place.
func (m *Masters) knowsTime() bool {
	if m.timed.Load() {
		return true
	}
	if _, told := m.clocks(); !m.majority(told) {
		return false
	}
	m.timed.Store(true)
	return true
}

// greet waits until the masters' time is known, which they tell as they are connected, for about the
// node timeout at most. It is for the first command of a client, which may not have connected yet: the
// command itself would wait for that as well.
//
// Cost: nothing is sent.
func (m *Masters) greet(ctx context.Context) {
	if !m.knowsTime() {
		m.meet(ctx, 0)
	}
}

// greeted says why t cannot be tried for: the masters' time is still not known.
func (m *Masters) greeted(ctx context.Context, t target) error {
	why := m.noTime(t)
	switch {
	case why == nil:
		return nil
	case isClosed(m.done):
		return ErrClosed
	case ctx.Err() != nil:
		return why.With(Ended(ctx))
	}
	return why
}

// waitForTime is greet for a caller that waits: until the masters' time is known, however long that
// takes. Meanwhile the log and the call are told why it is not.
//
// Cost: nothing is sent.
func (m *Masters) waitForTime(ctx context.Context, w *waiter) error {
	if m.knowsTime() {
		return nil
	}
	return m.await(ctx, func() error {
		why := m.noTime(w.target)
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

// noTime says why the masters' time is not known, nil if it is.
func (m *Masters) noTime(t target) *MajorityError {
	if m.knowsTime() {
		return nil
	}
	why, _ := errors.AsType[*MajorityError](m.unready(t.op(), t.key))
	return why
}

// RoundTrip returns a bound on the time that a majority of the masters takes to answer: that of
// the q-th fastest, see [node.Node.RoundTrip]. Where fewer than a majority are connected, it is
// that of the slowest of them, and zero if none is.
func (m *Masters) RoundTrip() time.Duration {
	var room [Max]time.Duration
	trips := room[:0]
	for _, n := range m.nodes {
		if d := n.RoundTrip(); d > 0 {
			trips = append(trips, d)
		}
	}
	if len(trips) == 0 {
		return 0
	}
	slices.Sort(trips)
	return trips[min(quorum.Majority(len(m.nodes)), len(trips))-1]
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
		m.log.Warn("redlock: this machine's clock stood still, or those of a majority of the masters jumped: holds end earlier", "by", missed)
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
