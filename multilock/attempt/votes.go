package attempt

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// How an attempt counts.
//
// A vote of a master is valid for a time. A yes is valid from when its round was sent. A hand-off
// is valid from when the round was sent that it names: the master carried that out before it handed
// the lock off. It does not count from when the message came, nor from when another round was sent:
// a hand-off that is delayed until its lease has run out would make two holders.
//
// A busy answer takes no vote away: it may be older than the vote, and a vote ends by itself.

// longest is what a lock that never expires is taken to be held for.
const longest = 365 * 24 * time.Hour

// asked counts the answer of a master to a round that asked for the lock. r is nil if that round is forgotten.
func (c *Attempt) asked(conf *Config, now clock.Instant, r *Round, ev *Event, out *Effects) {
	m := &c.Masters[ev.Master]
	m.Said, m.Answered, m.Latest = true, true, ev.Round == c.Round
	m.Outcome, m.Hopeless = ev.Outcome, ev.Hopeless
	m.Holder, m.Free, m.Ahead = ev.Holder, now, int32(ev.Ahead)
	if ev.Outcome == No { // whatever comes with a yes
		m.Free = now.Add(min(ev.Left, longest))
	}
	if r == nil {
		return
	}
	switch {
	case ev.Outcome != Yes:
	case r.Command == Register:
		// The lock was handed off, and the message is late or lost: a grant confirms it.
		c.askSoon(conf, now, ev, 0)
	default:
		c.read(m, ev)
		c.vote(now, ev.Master, deadline(r.Sent, c.Want.Lease), false)
		c.win(conf, now, ev, out)
	}
	if c.contends() && c.roundLost(conf) {
		c.lost(conf, now, r, ev, out)
	}
}

// handedOff counts a hand-off.
func (c *Attempt) handedOff(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	m, r := &c.Masters[ev.Master], c.round(ev.Round)
	m.Reached = true
	if !c.contends() {
		return
	}
	c.read(m, ev)
	if r == nil || reached(now, deadline(r.Sent, r.Lease)) {
		c.askSoon(conf, now, ev, 0) // too late to count: a grant confirms it
		return
	}
	c.Refreshing = true
	c.vote(now, ev.Master, deadline(r.Sent, r.Lease), true)
	if c.win(conf, now, ev, out); c.contends() {
		c.keepVotes(conf, now, ev, out)
	}
}

// vote notes a vote, unless the master gave one that is valid for longer.
func (c *Attempt) vote(now clock.Instant, i int, until clock.Instant, handedOff bool) {
	if m := &c.Masters[i]; !m.Voted || until.Sub(m.Until) > 0 {
		m.Voted, m.Until, m.HandedOff = true, until, handedOff
	}
}

// win goes on when a majority of the votes is valid at the same time, until the q-th longest of them ends.
func (c *Attempt) win(conf *Config, now clock.Instant, ev *Event, out *Effects) {
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
	m := &c.Masters[last]
	if m.HandedOff && now.Left(m.Until) < c.topUp(conf, ev.Trip) {
		c.askSoon(conf, now, ev, 0) // it would end before it is renewed: an ask makes grants of the hand-offs
		return
	}
	c.Until, c.Short = m.Until, m.HandedOff
	c.settle(conf, now, ev, out)
}

// revalue sets the end of validity to that of the q-th longest vote, and is false if there are fewer votes.
func (c *Attempt) revalue(conf *Config, now clock.Instant) bool {
	last := c.last(conf, now)
	if last >= 0 {
		c.Until = c.Masters[last].Until
	}
	return last >= 0
}

// last returns the master whose vote a majority ends with, -1 if there is none.
func (c *Attempt) last(conf *Config, now clock.Instant) int {
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
func (c *Attempt) topUp(conf *Config, trip time.Duration) time.Duration {
	return min(2*(trip+conf.TopUp), c.Want.Lease/4)
}

// read notes a fencing counter.
func (c *Attempt) read(m *Master, ev *Event) {
	c.Token, m.Token = max(c.Token, ev.Token), max(m.Token, ev.Token)
}

// votes returns how many masters gave a vote.
func (c *Attempt) votes(conf *Config) (n int) {
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
func (c *Attempt) roundLost(conf *Config) bool {
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
func (c *Attempt) lost(conf *Config, now clock.Instant, r *Round, ev *Event, out *Effects) {
	if !c.Want.Wait {
		c.judge(conf, now, ev, out)
		return
	}
	if c.State != Minority {
		c.State = Waiting
	}
	var room [Max]time.Duration
	left, certain := room[:0], 0
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Outcome == Yes || m.Outcome == No {
			left = append(left, max(0, now.Left(m.Free)))
			if m.Latest || !reached(now, m.Free) {
				certain++
			}
		}
	}
	free, known := quorum.FreeAfter(conf.Masters, left)
	// Each answer that is late would bring another round, or each master that fails at once, while r asks the others
	// whether it is free there by now.
	known = known && r.Number == c.Round && (free > 0 || conf.decide(certain, 0) == quorum.Won)
	if known {
		c.sooner(conf, now, ev, free+conf.Settle+c.stagger(conf)) // expiry sends no message
	}
	tells := r.Number > c.HeldAsOf
	if tells {
		c.HeldUntil = now
		if c.holder(conf, false) != Nobody {
			c.HeldUntil = now.Add(free)
		}
	}
	switch {
	case c.votes(conf) == 0:
	case tells && !c.Refreshing && c.holder(conf, true) != Nobody:
		c.keepVotesFor(now, ev.Trip)
	default:
		c.keepVotes(conf, now, ev, out)
	}
	if c.inVain(conf) {
		c.end(conf, now, Hopeless, out)
	}
}

// judge decides for a contender that does not wait. A lost round waits for more answers as long as
// they can tell a lock that is taken from one that nobody got.
func (c *Attempt) judge(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	yes, no, _ := c.tally(conf)
	// Enough masters answered, and no majority of them named one holder. With a master silent that
	// cannot be told for sure from a lock that is taken.
	split := conf.decide(yes+no, 0) == quorum.Won && c.holder(conf, false) == Nobody
	switch {
	case conf.decide(yes, 0) == quorum.Won: // and some of these votes have ended
		c.end(conf, now, Late, out)
	case c.contest(conf) == quorum.Undecided:
	case c.kept(conf) && !c.Recalled:
		c.recall(conf, now, ev, out)
	case split && c.BackOffs < maxSplits-1:
		c.pause(conf, now, ev, out)
	default:
		c.end(conf, now, Refused, out)
	}
}

// tally counts what the masters said last.
func (c *Attempt) tally(conf *Config) (yes, no, errs int) {
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
func (c *Attempt) holders(conf *Config, latest bool, to []Holder) []Holder {
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Outcome == No && (m.Latest || !latest) {
			to = append(to, m.Holder)
		}
	}
	return to
}

// holder returns the holder that a majority named, or Nobody; with latest, only answers to the last round count. Those are
// stronger evidence: answers to several rounds may all name an owner that has given the lock back in between.
func (c *Attempt) holder(conf *Config, latest bool) Holder {
	var room [Max]Holder
	holder, ok := quorum.Holder(conf.Masters, c.holders(conf, latest, room[:0]))
	if !ok {
		return Nobody
	}
	return holder
}

// kept reports whether a majority named a holder that may only keep the lock. This client would have taken
// over what it keeps itself, unless it is to be shared.
func (c *Attempt) kept(conf *Config) bool {
	holder := c.holder(conf, false)
	return holder&Keeps != 0 && (holder&Ours == 0 || c.Want.Shared)
}

// contest returns why no majority granted the lock, by what the masters said last.
func (c *Attempt) contest(conf *Config) quorum.Contest {
	yes, _, errs := c.tally(conf)
	var room [Max]Holder
	return quorum.Judge(conf.Masters, yes, errs, c.holders(conf, false, room[:0]))
}

// inVain reports whether so many masters reported permanent errors that no majority is left.
func (c *Attempt) inVain(conf *Config) bool {
	never := 0
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Hopeless {
			never++
		}
	}
	return conf.decide(0, never) == quorum.Lost
}
