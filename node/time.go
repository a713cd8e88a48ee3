package node

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/server"
)

// Time returns what the master's wall clock shows now, to within half a round trip and what it
// drifted since it was last asked: at most a second ago while commands are sent, and 18 while the client
// is idle, in which clocks drift by a millisecond or two. If the clock was set in such a silence, Time is wrong until the
// next answer. A master that is gone is assumed to keep time,
// and one that refuses TIME to have ours. The result is false if the master was never asked.
//
// Cost: nothing is sent.
func (n *Node) Time(now clock.Instant) (time.Time, bool) {
	last := n.lastTime.Load()
	if last == nil {
		return time.Time{}, false
	}
	return last.Told.Add(now.Sub(last.Sent) - last.Read.Sub(last.Sent)/2), true
}

// storeTimeLocked notes what the master's clock showed. If the master did not tell, ok is false and our own clock stands in, as
// of read. An answer that was on its way for long says little, so it counts only if nothing better is known.
func (n *Node) storeTimeLocked(s server.Sample, ok bool, read clock.Instant) {
	switch known := n.lastTime.Load() != nil; {
	case ok && (!known || s.Read.Sub(s.Sent) <= n.cfg.Timeout):
		n.lastTime.Store(&s)
	case !known:
		n.lastTime.Store(&server.Sample{Sent: read, Read: read, Told: time.Now()})
	}
}

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

// storeRoundTripLocked makes RoundTrip return what l has measured.
func (n *Node) storeRoundTripLocked(l *link) {
	n.roundTrip.Store(int64(min(l.answerTime.bound(), n.cfg.Timeout)))
}
