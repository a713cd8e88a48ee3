package node

import "time"

// roundTrip is how long a master takes to answer: the smoothed time and its mean deviation, kept
// as TCP keeps them (RFC 6298). What waits for a master waits in these, not in fixed
// milliseconds: a master may be in the same rack or on another continent.
//
// The zero roundTrip has measured nothing.
type roundTrip struct {
	smoothed, deviation time.Duration
}

// take takes in the time that one answer took.
func (r *roundTrip) take(took time.Duration) {
	if *r == (roundTrip{}) {
		*r = roundTrip{smoothed: took, deviation: took / 2}
		return
	}
	r.deviation += ((r.smoothed - took).Abs() - r.deviation) / 4
	r.smoothed += (took - r.smoothed) / 8
}

// bound is what next to no answer takes longer than, unless something has changed.
func (r *roundTrip) bound() time.Duration { return r.smoothed + 4*r.deviation }

// RoundTrip returns a bound on the time that the master takes to answer, by what it took lately:
// the smoothed time and four times its deviation. It is zero while there is no connection.
func (n *Node) RoundTrip() time.Duration { return time.Duration(n.trip.Load()) }

// measure takes in the time that one answer took, Config.Timeout at most: later, nobody waits
// for it. n.mu is held.
func (n *Node) measure(l *link, took time.Duration) {
	l.trip.take(min(took, n.cfg.Timeout))
	n.trip.Store(int64(l.trip.bound()))
}
