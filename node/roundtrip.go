package node

import "time"

// answerTime is how long a master takes to answer: the smoothed time and its mean deviation, kept
// as TCP keeps them (RFC 6298). What waits for a master waits in these, not in fixed
// milliseconds: a master may be in the same rack or on another continent.
//
// The zero answerTime has measured nothing.
type answerTime struct {
	smoothed, deviation time.Duration
}

// take takes in the time that one answer took.
func (r *answerTime) take(took time.Duration) {
	if *r == (answerTime{}) {
		*r = answerTime{smoothed: took, deviation: took / 2}
		return
	}
	r.deviation += ((r.smoothed - took).Abs() - r.deviation) / 4
	r.smoothed += (took - r.smoothed) / 8
}

// bound is what next to no answer takes longer than, unless something has changed.
func (r *answerTime) bound() time.Duration { return r.smoothed + 4*r.deviation }

// RoundTrip returns a bound on the time that the master takes to answer, by what it took lately:
// the smoothed time and four times its deviation, at most Config.Timeout. It is zero while there
// is no connection.
func (n *Node) RoundTrip() time.Duration { return time.Duration(n.trip.Load()) }

// measure takes in the time that one answer took. Nobody waits for one that takes longer than
// Config.Timeout, so no more than that counts. n.mu is held.
func (n *Node) measure(l *link, took time.Duration) {
	l.trip.take(min(took, n.cfg.Timeout))
	n.showTrip(l)
}

// showTrip has RoundTrip tell what l has measured. n.mu is held.
func (n *Node) showTrip(l *link) {
	n.trip.Store(int64(min(l.trip.bound(), n.cfg.Timeout)))
}
