package multilock

import (
	"context"
	"slices"
	"time"

	"example.com/redlock/clock"
)

// Now returns what time it is by the masters' clocks: the median of what they show, with our own
// clock in the place of those that have not told. The stamps of waiters and the proposed fencing
// tokens are read off it, so they depend neither on the clocks of clients nor on those of a
// minority of the masters, unless both are wrong in the same way.
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
	case m.over():
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
	return m.unready(t.op(), t.key)
}
