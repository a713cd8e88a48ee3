package protocol

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// How a contender counts.
//
// A vote of a master is valid for a time. A grant is valid from when its round was sent. A hand-off
// is valid from when the round was sent that it names: the master carried that out before it handed
// the lock off. It does not count from when the message came, nor from when another round was sent:
// a hand-off that is delayed until its lease has run out would make two holders.
//
// A busy answer takes no vote away: it may be older than the vote, and a vote ends by itself.

// longest is what a lock that never expires is taken to be held for.
const longest = 365 * 24 * time.Hour

// answer counts the answer of a master to a round.
func (c *Contender) answer(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	m := &c.Masters[ev.Master]
	m.Open--
	// Who waits stands in the queue of a master that said no.
	m.Reached = m.Reached || ev.Outcome.mayHold() || c.Want.Wait && ev.Outcome == No
	m.Said, m.Answered, m.Latest = true, true, ev.Round == c.Round
	m.Outcome, m.Hopeless = ev.Outcome, ev.Hopeless
	m.Holder, m.Free, m.Ahead = ev.Holder, now.Add(min(ev.Left, longest)), int32(ev.Ahead)
	r, known := c.round(ev.Round)
	if !known {
		return
	}
	switch {
	case ev.Outcome != Yes:
	case r.Queue:
		// The lock was handed off, and the message is late or lost: a grant confirms it.
		c.askSoon(conf, now, ev, 0)
	default:
		c.vote(conf, now, ev.Master, deadline(r.Sent, c.Want.Lease), false, ev, out)
	}
	if c.contends() && !r.Some && c.roundLost(conf) {
		c.lost(conf, now, r, ev, out)
	}
}

// handedOff counts a hand-off.
func (c *Contender) handedOff(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	m := &c.Masters[ev.Master]
	c.read(m, ev)
	m.Reached = true
	r, known := c.round(ev.Round)
	if !known || reached(now, deadline(r.Sent, r.Lease)) {
		c.askSoon(conf, now, ev, 0) // too late to count: a grant confirms it
		return
	}
	c.Refreshing = true
	c.vote(conf, now, ev.Master, deadline(r.Sent, r.Lease), true, ev, out)
	if c.contends() {
		c.keep(conf, now, ev, out)
	}
}

// vote counts a vote. The contender wins when a majority is valid at the same time, until the q-th longest
// of them ends.
func (c *Contender) vote(conf *Config, now clock.Instant, i int, until clock.Instant, handedOff bool, ev *Event, out *Effects) {
	m := &c.Masters[i]
	c.read(m, ev)
	if !m.Voted || until.Sub(m.Until) > 0 {
		m.Voted, m.Until, m.HandedOff = true, until, handedOff
	}
	if conf.decide(c.votes(conf), 0) != quorum.Won {
		return
	}
	for i := range conf.Masters {
		m := &c.Masters[i]
		m.Voted = m.Voted && !reached(now, m.Until)
	}
	last := c.last(conf, now)
	if last < 0 {
		return
	}
	if c.Masters[last].HandedOff && now.Left(c.Masters[last].Until) < c.topUp(conf, ev.Trip) {
		c.askSoon(conf, now, ev, 0) // it would end before it is renewed: an ask makes grants of the hand-offs
		return
	}
	c.Until, c.Short = c.Masters[last].Until, c.Masters[last].HandedOff
	c.settle(conf, out)
}

// doubt takes the vote of master i away, which may have ended early. What was won ends with the q-th longest
// of those that are left, or now.
func (c *Contender) doubt(conf *Config, now clock.Instant, i int) {
	voted := c.Masters[i].Voted
	c.Masters[i].Voted = false
	if !voted || c.contends() || reached(now, c.Until) {
		return
	}
	if last := c.last(conf, now); last >= 0 {
		c.Until = c.Masters[last].Until
	} else {
		c.Until = now
	}
}

// last returns the master whose vote a majority ends with, -1 if there is none.
func (c *Contender) last(conf *Config, now clock.Instant) int {
	var left [Max]time.Duration
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Voted {
			left[i] = now.Left(m.Until)
		}
	}
	return quorum.Term(left[:conf.Masters])
}

// topUp returns how long, at least, a lock that was handed off must be valid: long enough to renew
// it to the lease wanted, and to try that a second time. For a lease that is short itself, a
// quarter of it is enough.
func (c *Contender) topUp(conf *Config, trip time.Duration) time.Duration {
	return min(2*(trip+conf.TopUp), c.Want.Lease/4)
}

// read notes a fencing counter.
func (c *Contender) read(m *Master, ev *Event) {
	c.Token, m.Token = max(c.Token, ev.Token), max(m.Token, ev.Token)
}

// votes returns how many masters gave a vote.
func (c *Contender) votes(conf *Config) (n int) {
	for i := range conf.Masters {
		if c.Masters[i].Voted {
			n++
		}
	}
	return n
}

// roundLost reports whether what was asked can make no majority. An answer to any round of the
// owner counts, or callers whose round trip is longer than the time between two rounds would never
// know.
func (c *Contender) roundLost(conf *Config) bool {
	votes, all := c.votes(conf), 0
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Voted || m.Answered {
			all++
		}
	}
	return conf.decide(votes, all-votes) == quorum.Lost
}

// lost decides what follows when what was asked makes no majority. It is called again for each
// answer to round r that comes later.
func (c *Contender) lost(conf *Config, now clock.Instant, r *Round, ev *Event, out *Effects) {
	if !c.Want.Wait {
		c.judge(conf, now, ev, out)
		return
	}
	if c.State != Minority {
		c.State = Waiting
	}
	var room [Max]time.Duration
	left := room[:0]
	for i := range conf.Masters {
		switch m := &c.Masters[i]; {
		case !m.Said:
		case m.Outcome == Yes:
			left = append(left, 0)
		case m.Outcome == No:
			left = append(left, max(0, now.Left(m.Free)))
		}
	}
	free, known := quorum.FreeAfter(conf.Masters, left)
	if known && r.Number == c.Round { // or each answer that is late would bring another round
		c.sooner(conf, now, ev, free+conf.Settle+c.stagger(conf)) // expiry sends no message
	}
	tells := r.Number > c.HeldAsOf
	if tells {
		c.HeldUntil = now
		if known && c.held(conf) {
			c.HeldUntil = now.Add(free)
		}
	}
	switch {
	case c.votes(conf) == 0:
	case tells && !c.Refreshing && c.named(conf):
		c.keepFor(now, ev.Trip)
	default:
		c.keep(conf, now, ev, out)
	}
	if c.inVain(conf) {
		c.fail(InVain, out)
	}
}

// judge decides for a contender that does not wait. A lost round waits for more answers as long as
// they can tell a lock that is taken from one that nobody got.
func (c *Contender) judge(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	yes, no, _ := c.tally(conf)
	// Enough masters answered, and no majority of them named one holder. With a master silent that
	// cannot be told for sure from a lock that is taken.
	split := conf.decide(yes+no, 0) == quorum.Won && !c.held(conf)
	switch {
	case conf.decide(c.granted(conf), 0) == quorum.Won:
		c.fail(Late, out)
	case c.Want.Again && conf.decide(0, no) == quorum.Lost:
		c.fail(Gone, out)
	case c.contest(conf) == quorum.Undecided:
	case c.kept(conf) && !c.Want.Again && !c.Recalled:
		c.recall(conf, now, ev, out)
	case split && !c.Want.Again && c.BackOffs < maxSplits-1:
		c.pause(conf, now, ev, out)
	default:
		c.fail(Refused, out)
	}
}

// granted returns how many masters gave a vote, those that are valid no more included.
func (c *Contender) granted(conf *Config) (n int) {
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Voted || m.Said && m.Outcome == Yes {
			n++
		}
	}
	return n
}

// tally counts what the masters said last.
func (c *Contender) tally(conf *Config) (yes, no, errs int) {
	for i := range conf.Masters {
		switch m := &c.Masters[i]; {
		case !m.Said:
		case m.Outcome == Yes:
			yes++
		case m.Outcome == No:
			no++
		default:
			errs++
		}
	}
	return yes, no, errs
}

// holders appends who has the lock at the masters that said no; with latest, at those that answered
// the last round.
func (c *Contender) holders(conf *Config, latest bool, to []Holder) []Holder {
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Said && m.Outcome == No && (m.Latest || !latest) {
			to = append(to, m.Holder)
		}
	}
	return to
}

// held reports whether a majority of the masters named one holder.
func (c *Contender) held(conf *Config) bool { return c.holder(conf, false) != Nobody }

// named reports whether a majority named one holder in answer to the last round. It is more than
// held: answers to several rounds may name one who has given the lock back in between.
func (c *Contender) named(conf *Config) bool { return c.holder(conf, true) != Nobody }

// holder returns the holder that a majority named, or Nobody; with latest, in answer to the last round.
func (c *Contender) holder(conf *Config, latest bool) Holder {
	var room [Max]Holder
	holder, ok := quorum.Holder(conf.Masters, c.holders(conf, latest, room[:0]))
	if !ok {
		return Nobody
	}
	return holder
}

// contest returns why no majority granted the lock, by what the masters said last.
func (c *Contender) contest(conf *Config) quorum.Contest {
	yes, _, errs := c.tally(conf)
	var room [Max]Holder
	return quorum.Judge(conf.Masters, yes, errs, c.holders(conf, false, room[:0]))
}

// inVain reports whether so many masters said what does not pass by itself that no majority is
// left.
func (c *Contender) inVain(conf *Config) bool {
	never := 0
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Said && m.Hopeless {
			never++
		}
	}
	return conf.decide(0, never) == quorum.Lost
}
