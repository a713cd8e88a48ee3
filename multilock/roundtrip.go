package multilock

import (
	"slices"
	"time"

	"example.com/redlock/quorum"
)

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
