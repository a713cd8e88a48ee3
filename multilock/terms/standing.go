package terms

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// longest bounds how long a client is established without an answer, and how long its locks count.
const longest = script.RecordLife / 2

// Term is how long a client is established after it sent what a majority of its masters kept: two of its
// longest leases, in which it publishes twice at least, and 30 s at most.
func Term(lease time.Duration) time.Duration { return min(2*max(lease, time.Second), longest) }

// Life is for how long a client publishes its terms: for its term, and for the lock that it took at the end of it.
func Life(lease time.Duration) time.Duration { return Term(lease) + min(lease, longest) }

// Do is a step of a client that wants to be established.
type Do uint8

const (
	Join  Do = iota // publish its terms at each master where nobody has others, and ask for those in one step
	Stay            // publish them at all, since those of others fit
	Ended           // it is established, or refused, or too few masters have told
	Look            // ask the same, and publish nothing: no step to a lock
)

// Step is a step that has ended.
type Step struct {
	Sent, Now clock.Instant
	Told, Of  int           // masters that told, or refuse to, which keeps nobody from a lock; of how many
	Again     bool          // its terms are to be published at all: some told of others, it has met another master, or it only looked
	Refused   bool          // others conflict with the client
	Pause     time.Duration // until it may look again, if so
}

// Standing is where a client stands among those that use its masters. It is a newcomer at first, which takes no
// lock; and established once a majority of its masters have its terms, and none that told has any that conflict.
// That is a lease: it lasts as long as the client refreshes what it published. Nothing that others publish ends it.
//
// Of two newcomers that conflict, one at least is refused: each publishes its terms and looks at those of
// others in one step of a master, so at each master that both have asked, the second one finds the first. A client
// that is refused takes back what it has published.
//
// It reads no clock, and with its Lease alone it is a newcomer.
type Standing struct {
	Lease time.Duration // the longest that the client takes

	settled bool
	until   clock.Instant   // established until then, if settled
	kept    []clock.Instant // when each master was sent what it kept last
	refused bool
	pause   clock.Instant // no step before, if refused
}

// Established reports whether the client may take locks.
func (s *Standing) Established(now clock.Instant) bool { return s.settled && now.Left(s.until) > 0 }

// Lapsed reports whether the client was established, and has since had no answers for so long that
// it is not any more. One that has met another master has not lapsed.
func (s *Standing) Lapsed(now clock.Instant) bool {
	return s.settled && now.Left(s.term()) <= 0
}

// Seen reports whether others are to know of the client: it is established, or was until it met another master; or it was
// established at any time before, and still holds something.
func (s *Standing) Seen(now clock.Instant, holds bool) bool {
	return s.settled && (holds || !s.refused && now.Left(s.term()) > 0)
}

// term returns when the term ends that a majority of the masters has kept.
func (s *Standing) term() clock.Instant {
	latest := slices.SortedFunc(slices.Values(s.kept), func(a, b clock.Instant) int { return cmp.Compare(b.Sub(a), 0) })
	return latest[quorum.Majority(len(latest))-1].Add(Term(s.Lease))
}

// Until returns when the client ceases to be established.
func (s *Standing) Until() clock.Instant { return s.until }

// Free reports whether the client has nothing that it took while it was established: what it
// published, or sent and came late, may be taken back.
func (s *Standing) Free(now clock.Instant) bool {
	return !s.settled || now.Left(s.until.Add(min(s.Lease, longest))) <= 0
}

// First returns the first step of a newcomer that is asked for a lock.
func (s *Standing) First(now clock.Instant) Do {
	if s.Established(now) || s.refused && now.Left(s.pause) > 0 {
		return Ended
	}
	return Join
}

// Begin makes the client a newcomer: it has met a master that it did not know when it was established.
func (s *Standing) Begin(now clock.Instant) { s.until = now }

// Heard takes in a step, and returns the next.
func (s *Standing) Heard(r *Step) Do {
	s.refused = r.Refused
	switch {
	case r.Refused:
		s.pause = r.Now.Add(r.Pause)
		return Ended
	case quorum.Vote(r.Of, r.Told, 0) != quorum.Won:
		return Ended
	case r.Again:
		return Stay
	}
	s.settled, s.until = true, r.Sent.Add(Term(s.Lease))
	s.kept = slices.Repeat([]clock.Instant{r.Sent}, r.Of)
	return Ended
}

// Kept takes in that master i has kept what the client sent it at sent. One whose term has ended,
// or that has met another master, looks again before it is established.
func (s *Standing) Kept(i int, sent, now clock.Instant) {
	if !s.Seen(now, false) || s.kept[i].Sub(sent) > 0 {
		return
	}
	s.kept[i] = sent
	if until := s.term(); s.Established(now) && until.Sub(s.until) > 0 {
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
	Use    script.Use
	Reason error
	Master int // that told
}

// Rivals returns the uses that conflict with own, by what the masters of one set told in the last minute.
func Rivals(own *Terms, views []View, now clock.Instant) (rivals []Rival) {
	text, seen := sync.OnceValue(own.Text), make(map[string]bool) // nearly always, there are none
	for i := range views {
		for _, u := range views[i].Uses {
			its := func(m Master) bool { return script.Same(&m, &views[i].Master) } // nobody publishes terms elsewhere
			if seen[u.Text] || u.Text == text() || now.Sub(views[i].At) > script.RecordLife || !slices.ContainsFunc(u.Masters, its) {
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
