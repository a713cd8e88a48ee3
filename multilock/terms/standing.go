package terms

import (
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

const (
	// Moment is for how long a candidate publishes its terms.
	Moment = 5 * time.Second

	// longest bounds how long a client is established without an answer, and how long its locks count.
	longest = script.RecordLife / 2
)

// Term is how long a client is established after it sent what a majority of its masters kept: two of its
// longest leases, in which it publishes twice at least, and 30 s at most.
func Term(lease time.Duration) time.Duration { return min(2*max(lease, time.Second), longest) }

// Life is for how long an established client publishes its terms: for its term, and for the lock that it took
// at the end of it.
func Life(lease time.Duration) time.Duration { return Term(lease) + min(lease, longest) }

// Do is what a client does next to be established.
type Do uint8

const (
	Look   Do = iota // ask the masters how others use them, and publish nothing
	Apply            // publish its terms as a candidate, and ask the same in one step
	Settle           // publish them as established, and only then take locks
	Wait             // nothing: it was refused, or too few masters have told
)

// Round is a Look or an Apply that has ended.
type Round struct {
	Did       Do
	Sent, Now clock.Instant
	Told, Of  int           // masters that told, or refuse to, which keeps nobody from a lock; of how many
	Refused   bool          // others conflict with the client
	Pause     time.Duration // until it may look again, if so
}

// Standing is where a client stands among those that use its masters. It is a newcomer at first, which takes
// no lock, and publishes nothing before it has looked; a candidate for a round; and then established, which is
// a lease: it lasts as long as the client refreshes what it published. Nothing that others publish ends it.
//
// Of two newcomers that conflict, one at least is refused: each publishes its terms and looks at those of
// others in one step of a master, so at each master that both have asked, the second one finds the first.
//
// It reads no clock, and its zero value is a newcomer.
type Standing struct {
	settled bool
	until   clock.Instant   // established until then, if settled
	kept    []clock.Instant // when each master was sent what it kept last
	refused bool
	pause   clock.Instant // no look before, if refused
}

// Established reports whether the client may take locks.
func (s *Standing) Established(now clock.Instant) bool { return s.settled && now.Left(s.until) > 0 }

// Until returns when the client ceases to be established. settled is false if it never was.
func (s *Standing) Until() (until clock.Instant, settled bool) { return s.until, s.settled }

// Over reports whether a client with this longest lease was established, and what it took then has ended: what it
// sent before may have come late, and be taken back.
func (s *Standing) Over(now clock.Instant, lease time.Duration) bool {
	return s.settled && now.Left(s.until.Add(min(lease, longest))) <= 0
}

// MayLook reports whether a newcomer that is asked for a lock looks at how others use its masters.
func (s *Standing) MayLook(now clock.Instant) bool {
	return !s.Established(now) && !(s.refused && now.Left(s.pause) > 0)
}

// Begin makes the client a newcomer: it has met a master that it did not know when it was established.
func (s *Standing) Begin(now clock.Instant) { s.until = now }

// Heard takes in a round, and returns what to do next.
func (s *Standing) Heard(r *Round) Do {
	s.refused = r.Refused
	switch {
	case r.Refused:
		s.pause = r.Now.Add(r.Pause)
		return Wait
	case !majority(r.Of, r.Told):
		return Wait
	case r.Did == Look:
		return Apply
	}
	s.settled, s.until = true, r.Sent.Add(Moment)
	s.kept = slices.Repeat([]clock.Instant{r.Sent.Add(-script.RecordLife)}, r.Of)
	return Settle
}

// Kept takes in that master i has kept what an established client with this longest lease sent it at sent. A
// client whose term has ended looks again first.
func (s *Standing) Kept(i int, sent, now clock.Instant, lease time.Duration) {
	if !s.Established(now) || s.kept[i].Sub(sent) > 0 {
		return
	}
	s.kept[i] = sent
	latest := slices.SortedFunc(slices.Values(s.kept), func(a, b clock.Instant) int { return int(b.Sub(a)) })
	if until := latest[quorum.Majority(len(latest))-1].Add(Term(lease)); until.Sub(s.until) > 0 {
		s.until = until
	}
}

// View is what one master told.
type View struct {
	Master script.Master
	Uses   []script.Use
	At     clock.Instant // when it was asked
}

// Rival is a use that conflicts with that of a client.
type Rival struct {
	script.Use
	Reason error
	Master int // that told
}

// Rivals returns the uses that conflict with own, by what the masters of one set told in the last minute.
func Rivals(own *Terms, views []View, now clock.Instant) (rivals []Rival) {
	text, seen := own.Text(), make(map[string]bool)
	for i := range views {
		for _, u := range views[i].Uses {
			its := func(m Master) bool { return script.Same(&m, &views[i].Master) } // nobody publishes terms elsewhere
			if seen[u.Text] || u.Text == text || now.Sub(views[i].At) > script.RecordLife || !slices.ContainsFunc(u.Masters, its) {
				continue
			}
			seen[u.Text] = true
			if reason := Conflict(own, u.Terms); reason != nil {
				rivals = append(rivals, Rival{u, reason, i})
			}
		}
	}
	return rivals
}

func majority(n, k int) bool { return quorum.Vote(n, k, 0) == quorum.Won }
