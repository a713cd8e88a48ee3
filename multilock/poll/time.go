package poll

import (
	"context"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// Now returns the time by the masters' clocks: their median, in which this process's clock stands in
// for each master whose time is not known yet. Waiters' stamps and proposed fencing tokens are taken
// from it. So they depend neither on the clocks of clients nor on those of a minority of the masters,
// unless both are wrong in the same way.
func (m *Masters) Now() time.Time {
	shown, _ := m.clocks(clock.Now())
	return shown
}

// clocks returns what Now is at the instant now, and how many masters have told, or refused to.
func (m *Masters) clocks(now clock.Instant) (median time.Time, told int) {
	own := time.Now()
	var room [Max]int64
	shown := room[:0]
	for _, n := range m.Nodes {
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

// Stamp returns what the masters' clocks showed at i. A waiter keeps its stamp for good, so none is made
// before the masters' time is known. The clock is read once: a process that is stopped between two readings would
// count that time as waited.
func (m *Masters) Stamp(i clock.Instant) time.Time {
	now := clock.Now()
	shown, _ := m.clocks(now)
	return shown.Add(-now.Sub(i))
}

// KnowsTime reports whether a majority of the masters has told its time, or refused to. Until then Now
// may show our own clock, and no lock is asked for: a fencing counter that took over a token by our
// clock would keep it, and so would the queue a place.
func (m *Masters) KnowsTime() bool {
	if m.timed.Load() {
		return true
	}
	if _, told := m.clocks(clock.Now()); !m.Majority(told) {
		return false
	}
	m.timed.Store(true)
	return true
}

// Greet waits until the masters' time is known, which they tell as they are connected, for about the
// node timeout at most. It is for the first command of a client, which may not have connected yet: the
// command itself would wait for that as well.
//
// Cost: nothing is sent.
func (m *Masters) Greet(ctx context.Context) {
	if !m.KnowsTime() {
		none, cancel := context.WithCancel(ctx)
		cancel()
		m.Meet(ctx, none)
	}
}

// Greeted says why op on name cannot be tried: the masters' time is still not known.
func (m *Masters) Greeted(ctx context.Context, op, name string) error {
	why := m.NoTime(op, name)
	switch {
	case why == nil:
		return nil
	case m.Closed():
		return ErrClosed
	case ctx.Err() != nil:
		return why.With(Ended(ctx))
	}
	return why
}

// NoTime says why the masters' time is not known, nil if it is.
func (m *Masters) NoTime(op, name string) *MajorityError {
	if m.KnowsTime() {
		return nil
	}
	return m.Unready(op, name)
}

// RoundTrip returns a bound on the time that a majority of the masters takes to answer: that of
// the q-th fastest, see [node.Node.RoundTrip]. Where fewer than a majority are connected, it is
// that of the slowest of them, and zero if none is.
func (m *Masters) RoundTrip() time.Duration {
	var room [Max]time.Duration
	trips := room[:0]
	for _, n := range m.Nodes {
		if d := n.RoundTrip(); d > 0 {
			trips = append(trips, d)
		}
	}
	if len(trips) == 0 {
		return 0
	}
	slices.Sort(trips)
	return trips[min(quorum.Majority(len(m.Nodes)), len(trips))-1]
}
