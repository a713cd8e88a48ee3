package multilock

import (
	"context"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/quorum"
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

// stamp returns what the masters' clocks showed at i. It is the zero time until a majority of the
// masters has told, or refused to: before that it would show our own clock, and a waiter keeps its
// stamp for good.
func (m *Masters) stamp(i clock.Instant) time.Time {
	now, told := m.clocks()
	if !m.majority(told) {
		return time.Time{}
	}
	return now.Add(-clock.Since(i))
}

// greet waits until a majority of the masters has told its time, for about the node timeout at
// most. It is for the first command of a client, which may not have connected yet: the
// command itself would wait for that as well.
//
// Cost: nothing once they have told or refused to, else one round trip to the q-th fastest.
func (m *Masters) greet(ctx context.Context) {
	if m.greeted.Load() {
		return
	}
	told := m.ask(node.AskTime, func(b *ballot) bool { return b.answered() != quorum.Pending })
	if b, cut := told.wait(ctx); cut == nil && b.answered() == quorum.Won {
		m.greeted.Store(true)
	}
}
