package node

import "time"

// answerTime is how long a master takes to answer: the smoothed time and its mean deviation, kept
// as TCP keeps them (RFC 6298). Whatever waits for a master waits in multiples of it, and not
// in fixed milliseconds: a master may be in the same rack or on another continent.
//
// The zero answerTime has measured nothing.
type answerTime struct {
	smoothed, deviation time.Duration
}

// add takes in the time that one answer took.
func (a *answerTime) add(took time.Duration) {
	if *a == (answerTime{}) {
		*a = answerTime{smoothed: took, deviation: took / 2}
		return
	}
	a.deviation += ((a.smoothed - took).Abs() - a.deviation) / 4
	a.smoothed += (took - a.smoothed) / 8
}

// bound is a time that hardly any answer exceeds, unless something has changed.
func (a *answerTime) bound() time.Duration { return a.smoothed + 4*a.deviation }

// RoundTrip returns a bound on the time in which the master answers, judged by its recent
// answers: the smoothed time and four times its deviation, at most Config.Timeout. It is zero
// while there is no connection.
func (n *Node) RoundTrip() time.Duration { return time.Duration(n.roundTrip.Load()) }

// measureLocked takes in the time that one answer took. Nobody waits for longer than
// Config.Timeout, so no more than that counts.
func (n *Node) measureLocked(l *link, took time.Duration) {
	l.answerTime.add(min(took, n.cfg.Timeout))
	n.storeRoundTripLocked(l)
}

// storeRoundTripLocked has RoundTrip return what l has measured.
func (n *Node) storeRoundTripLocked(l *link) {
	n.roundTrip.Store(int64(min(l.answerTime.bound(), n.cfg.Timeout)))
}
