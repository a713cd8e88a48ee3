package terms

import (
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

const (
	// life is how long masters keep what an established client published, and moment is that of a candidate:
	// see uses.lua.
	life   = script.RecordLife
	moment = 5 * time.Second

	// term is how long a client counts as established after it sent what a majority then kept. The rest of its
	// life is for the locks that it took last.
	term = life / 2

	// lookAgain is how often a client that was refused looks again, for its callers' sake.
	lookAgain = time.Second
)

// Do is what a client does next to be established.
type Do uint8

const (
	Wait     Do = iota // nothing: it is established, or was refused just now
	Look               // ask the masters how others use them, and publish nothing
	Apply              // publish its terms as a candidate, and ask the same in one step
	Settle             // publish its terms as established, and only then take locks
	Withdraw           // take back that it is a candidate
)

// View is what one master told.
type View struct {
	Master script.Master // that told; its zero value: it told nothing
	Told   bool          // or it refuses to tell, which keeps nobody from a lock
	Uses   []script.Use
	At     clock.Instant // when it was asked
}

// Round is a Look or an Apply that has ended.
type Round struct {
	Did       Do
	Sent, Now clock.Instant
	Own       *Terms
	Text      string // of Own
	Views     []View // of each of the client's masters
	Elsewhere []View // what those of its other sets told last
	Back      time.Duration
}

// Rival is a use that conflicts with that of the client.
type Rival struct {
	script.Use
	Reason error
	Since  time.Duration // it was published last, at least
	Master int           // of the client's that told, -1: it is one of another set
}

// Standing is where a client stands among those that use its masters. It is a newcomer at first, which takes
// no lock and publishes nothing before it has looked; a candidate for a round; and then established, which
// is a lease: it lasts as long as the client refreshes what it published. Nothing that others publish ends it.
//
// Of two newcomers that conflict, one at least is refused: each publishes its terms and looks at those of
// others in one step of a master, so at each master that both have asked, the second one finds the first.
//
// It reads no clock, and its zero value is a newcomer. By names the client at the masters.
type Standing struct {
	By    string
	until clock.Instant   // established until then
	pause clock.Instant   // refused: no look before
	kept  []clock.Instant // when each master was sent what it kept last
	state Do              // Settle: established; Apply: a candidate; else a newcomer
	rival *Rival          // why it was refused
}

// Established reports whether the client may take locks.
func (s *Standing) Established(now clock.Instant) bool {
	return s.state == Settle && now.Left(s.until) > 0
}

// Until returns when the client ceases to be established.
func (s *Standing) Until() clock.Instant { return s.until }

// Rival returns why the client was refused last, nil if it was not, or was established since.
func (s *Standing) Rival() *Rival { return s.rival }

// Ask returns what to do before a lock is taken: Wait or Look.
func (s *Standing) Ask(now clock.Instant) Do {
	if s.Established(now) || s.rival != nil && now.Left(s.pause) > 0 {
		return Wait
	}
	s.Begin()
	return Look
}

// Begin makes the client a newcomer: it has met a master that it did not know when it was established.
func (s *Standing) Begin() { s.state, s.kept = Look, nil }

// Heard takes in a round, and returns what to do next.
func (s *Standing) Heard(r *Round) Do {
	s.state = Look
	told := 0
	for i := range r.Views {
		if r.Views[i].Told {
			told++
		}
	}
	rival := s.rivalIn(r)
	age, running := s.running(r)
	switch {
	case !majority(len(r.Views), told) && rival == nil:
		s.rival = nil
		return s.back(r)
	case rival != nil:
		s.rival, s.pause = rival, r.Now.Add(lookAgain)
		if rival.State == script.Candidate {
			s.pause = r.Now.Add(r.Back)
		}
		return s.back(r)
	case running && age < term-moment: // as others with the same terms: who conflicts with it finds those
		s.until = r.Sent.Add(term - age)
	case r.Did == Look:
		s.state = Apply
		return Apply
	default:
		s.until = r.Sent.Add(moment - lookAgain)
	}
	s.state, s.rival = Settle, nil
	s.kept = make([]clock.Instant, len(r.Views))
	for i := range s.kept {
		s.kept[i] = r.Sent.Add(-life)
	}
	return Settle
}

// back ends a round after which the client is a newcomer still.
func (s *Standing) back(r *Round) Do {
	if r.Did == Apply {
		return Withdraw
	}
	return Wait
}

// Kept takes in that master i kept, as established, what it was sent at sent. It reports whether the client is
// established for longer by that. A client whose lease has ended looks again first.
func (s *Standing) Kept(i int, sent, now clock.Instant) bool {
	if !s.Established(now) || s.kept[i].Sub(sent) > 0 {
		return false
	}
	s.kept[i] = sent
	latest := slices.SortedFunc(slices.Values(s.kept), func(a, b clock.Instant) int { return int(b.Sub(a)) })
	until := latest[quorum.Majority(len(latest))-1].Add(term)
	if until.Sub(s.until) <= 0 {
		return false
	}
	s.until = until
	return true
}

// running returns how long ago the client's own terms were published last as established, by others, at the
// most up to date majority of the masters that told. It is false if none has them.
func (s *Standing) running(r *Round) (age time.Duration, ok bool) {
	var ages []time.Duration
	for _, v := range r.Views {
		for _, u := range v.Uses {
			if u.State == script.Established && u.Text == r.Text && v.has(u.Terms) {
				ages = append(ages, time.Duration(u.Age)*time.Millisecond)
			}
		}
	}
	if !majority(len(r.Views), len(ages)) {
		return 0, false
	}
	slices.Sort(ages)
	return ages[quorum.Majority(len(r.Views))-1], true
}

// rivalIn returns a use that keeps the client from being established, nil if there is none; one of an
// established client, if there is one.
func (s *Standing) rivalIn(r *Round) (rival *Rival) {
	for _, found := range Rivals(r.Own, r.Text, s.By, r.Views, r.Elsewhere, r.Now) {
		if rival == nil || rival.State == script.Candidate && found.State == script.Established {
			rival = &found
		}
	}
	return rival
}

// Rivals returns the uses that conflict with own, whose text and publisher are given, by what the client's
// masters told, and those of its other sets.
func Rivals(own *Terms, text, by string, views, elsewhere []View, now clock.Instant) (rivals []Rival) {
	for i, v := range slices.Concat(views, elsewhere) {
		if i >= len(views) {
			i = -1
		}
		for _, u := range v.Uses {
			lives := life
			if u.State == script.Candidate {
				lives = moment
			}
			age := time.Duration(u.Age)*time.Millisecond + now.Sub(v.At)
			if u.Text == text || u.By == by || age > lives || !v.has(u.Terms) || i >= 0 && absent(u, views) {
				continue
			}
			if reason := Conflict(own, u.Terms); reason != nil {
				rivals = append(rivals, Rival{u, reason, age, i})
			}
		}
	}
	return rivals
}

// has reports whether clients with these terms use the master that told: nobody publishes terms elsewhere.
func (v *View) has(t *Terms) bool {
	return slices.ContainsFunc(t.Masters, func(m Master) bool { return script.Same(&m, &v.Master) })
}

// absent reports whether so many of its masters do not know u that no majority of them can.
func absent(u script.Use, views []View) bool {
	missing := 0
	for i := range views {
		v := &views[i]
		if v.Told && v.has(u.Terms) && !slices.ContainsFunc(v.Uses, func(o script.Use) bool { return o.Text == u.Text }) {
			missing++
		}
	}
	return !majority(len(u.Masters), len(u.Masters)-missing)
}

func majority(n, k int) bool { return quorum.Vote(n, k, 0) == quorum.Won }
