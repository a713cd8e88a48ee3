package attempt

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// Want is what a caller wants of an [Attempt].
type Want struct {
	Lease  time.Duration // whole milliseconds
	Wait   bool          // until the lock is free; otherwise it tries, a few times at most
	Keep   bool          // its client keeps locks: take a range of fencing tokens
	Shared bool          // together with other readers; a downgrade sets it
}

// Attempt is a lock that a caller wants, has, or had. It asks all masters at once. If the lock is taken and the
// caller waits, it stands in the queues of the masters, which hand the lock off. Each yes and each hand-off is a
// vote that is valid for a time, and the lock is held as long as a majority of the votes is.
//
// The zero Attempt with its Want set is Idle, if it has room for what it knows of its Masters, and for two Rounds at
// least.
//
// Source: docs/how-it-works.md.
type Attempt struct {
	Want  Want
	State State
	Why   Why

	BackOffs uint8 // and pauses after a split
	Raises   uint8 // of this try
	Recalled bool  // it has paused for a lock that another client may only keep
	Wanted   bool  // it will not be kept: somebody else wants the lock, or a master may have forgotten it

	// Refreshing: a hand-off was counted since the last round, so that its answers tell nothing of
	// those masters that have not handed off.
	Refreshing bool

	Short bool // from Settling on: it was handed off for a short lease, and no renewal was confirmed yet
	Due   bool // from Held on: a renewal is due at RenewAt

	Try   uint32 // the owner: each has one try at a free lock
	Round uint32 // the last one

	Begun      clock.Instant
	AskAt      clock.Instant // when the next round is due
	GiveBackAt clock.Instant // when it gives back what it has: in Minority its votes, in Kept the hold

	HeldUntil clock.Instant // until when one owner has a majority, by what the masters said last
	HeldAsOf  uint32        // answers to rounds up to this one do not tell that any more

	Counted int32 // from Held on: the hold count that the masters were told last

	Token int64 // the largest fencing counter that was read, or asked for; from Held on the hold's token
	Spare int64 // from Settling on: so many tokens after the hold's are its client's as well

	Until clock.Instant // from Settling on: end of validity; when it ended, if that was earlier

	// From Held on.
	Wish                  // of its entries together: Lease is that of renewals
	RenewAt clock.Instant // if one is due
	Entries []Entry       // who share the hold, the first of them from Start on

	Rounds  []Round // the last ones; none has Number 0
	Masters []Master
}

// Master is what an attempt knows of a master.
type Master struct {
	Until clock.Instant // of its vote
	Token int64         // the largest fencing counter that it answered to this owner
	Open  int32         // commands that are not answered

	// What it said last, to this owner or an earlier one.
	Ahead    int32 // how many stand before the caller in its queue
	Holder   Holder
	Free     clock.Instant // when the lock is free there
	Said     bool          // else the others here are zero
	Latest   bool          // to this owner's last round
	Hopeless bool
	Outcome  Outcome

	Voted     bool
	HandedOff bool // the vote is a hand-off
	Answered  bool // a round of this owner
	Reached   bool // it may have an entry in its queue, or a hold
}

// Step is the whole life of an attempt. It takes what happened at an instant, and says what to
// send. An event whose Try is not the attempt's is about an owner that it gave up: it changes
// nothing. Whatever the event, a hold whose validity is over has ended, and never comes back.
func (c *Attempt) Step(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	*out = Effects{}
	if c.has() && reached(now, c.Until) {
		c.end(conf, now, Expired, out)
	}
	current := ev.Try == c.Try
	switch ev.Kind {
	case Start:
		if c.State == Idle {
			c.start(conf, now, ev, out)
		}
	case Answer:
		if current {
			c.answer(conf, now, ev, out)
		}
	case Followed:
		if current {
			m := &c.Masters[ev.Master]
			m.Open--
			m.Reached = m.Reached || ev.Outcome != Unsent
		}
	case HandedOff:
		if current && c.Want.Wait { // others stand in no queue
			c.handedOff(conf, now, ev, out)
		}
	case Hint:
		if c.contends() {
			c.askSoon(conf, now, ev, ev.Delay+ev.draw(ev.Delay, out)+c.stagger(conf))
		}
	case Due:
		c.due(conf, now, ev, out)
	case Doubt:
		c.doubt(conf, now, ev.Master, out)
	case Wanted:
		if current {
			c.wanted(conf, now, out)
		}
	case Enter:
		c.enter(conf, now, ev, out)
	case Leave:
		c.leave(conf, now, ev, out)
	case Rewish:
		c.rewish(now, ev)
	case Renew, Downgrade:
		if c.State == Held {
			c.renew(conf, now, ev, out)
		}
	case Agree:
		if c.State == Held {
			c.agree(conf, now, ev, out)
		}
	case Lose:
		if c.has() {
			c.end(conf, now, Lost, out)
		}
	case End:
		c.over(conf, now, out)
	}
}

// over gives back what the client has, or gives up what it wants.
func (c *Attempt) over(conf *Config, now clock.Instant, out *Effects) {
	if c.has() {
		c.end(conf, now, Released, out)
	} else {
		c.end(conf, now, GivenUp, out)
	}
}

// start asks for the first time, unless a release is what enters the caller into the queue: its answers say nothing of
// who has the lock. No instant of the first try is a zero one, which would mean nothing.
func (c *Attempt) start(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.Try, c.Begun, c.HeldUntil = 1, now, now
	c.Entries = append(c.Entries, Entry{Key: ev.Key, Wish: ev.Wish})
	if ev.Follow {
		c.State = Waiting
		c.askBy(Follow, conf, now, ev, out)
		return
	}
	c.State = Asking
	c.ask(conf, now, ev, out)
}

// answer counts the answer of a master to a round.
func (c *Attempt) answer(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	m, r := &c.Masters[ev.Master], c.round(ev.Round)
	m.Open--
	asked := r == nil || r.Command.Asks()
	// A caller that waits stands in the queue of a master that said no.
	m.Reached = m.Reached || ev.Outcome.mayHold() || asked && c.Want.Wait && ev.Outcome == No
	switch {
	case c.contends():
		c.asked(conf, now, r, ev, out)
	case r == nil:
	case asked:
		if ev.Outcome == Yes && r.Command == Ask && c.State != Ended { // it belongs to what was won without it
			c.vote(now, ev.Master, deadline(r.Sent, c.Want.Lease), false)
			c.revalue(conf, now)
		}
	case c.State == Settling:
		c.raised(conf, now, r, ev, out)
	default:
		c.told(conf, now, r, ev, out)
	}
}

// contends reports whether the caller still wants votes.
func (c *Attempt) contends() bool {
	switch c.State {
	case Asking, Waiting, Minority:
		return true
	}
	return false
}

// has reports whether the client has the lock.
func (c *Attempt) has() bool { return c.State == Held || c.State == Kept }

// Wake returns when to call Step with [Due], and false if nothing is due at any time. As long
// as the first round may win there is nothing to time: each master answers, or is taken to
// have failed. Renewals are due at RenewAt, apart from this, since those of many holds share a command.
func (c *Attempt) Wake() (at clock.Instant, ok bool) {
	switch c.State {
	case Waiting, Paused:
		return c.AskAt, true
	case Minority:
		if c.AskAt.Left(c.GiveBackAt) < 0 {
			return c.GiveBackAt, true
		}
		return c.AskAt, true
	case Held:
		return c.Until, true
	case Kept:
		return c.GiveBackAt, true
	}
	return clock.Instant{}, false
}

// due does what is due.
func (c *Attempt) due(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	switch {
	case c.State == Minority && reached(now, c.GiveBackAt):
		c.backOff(conf, now, ev, out)
	case c.State == Paused && reached(now, c.AskAt):
		c.State = Asking
		clear(c.Masters) // each try is judged by its own answers
		c.ask(conf, now, ev, out)
	case (c.State == Waiting || c.State == Minority) && reached(now, c.AskAt):
		c.ask(conf, now, ev, out)
	case c.State == Kept && reached(now, c.GiveBackAt):
		c.end(conf, now, Released, out)
	}
}

// doubt notes that what master i voted for may have ended early. Its vote counts no more for what is not held yet:
// what was won ends with the q-th longest of those that are left, or now. A hold that it may have is renewed at
// once, and what is kept is given back: somebody else may have it.
func (c *Attempt) doubt(conf *Config, now clock.Instant, i int, out *Effects) {
	m := &c.Masters[i]
	switch {
	case c.State == Ended:
	case c.State == Held && c.Claimed().Has(i):
		c.Wanted = true
		c.renewIn(now, 0)
	case c.State == Kept && c.Claimed().Has(i):
		c.end(conf, now, Released, out)
	case c.has():
	case c.State == Settling && m.Voted:
		m.Voted, c.Wanted = false, true
		if !c.revalue(conf, now) {
			c.Until = now
		}
	default:
		m.Voted = false
	}
}

// wanted notes that somebody else wants the lock. What is kept is given back; what is held, or won before the
// client has heard of it, will not be kept.
func (c *Attempt) wanted(conf *Config, now clock.Instant, out *Effects) {
	if c.State == Kept {
		c.end(conf, now, Released, out)
	} else if c.State != Ended {
		c.Wanted = true
	}
}

// end ends the attempt, and gives back what there may be.
func (c *Attempt) end(conf *Config, now clock.Instant, why Why, out *Effects) {
	if c.State == Ended {
		return
	}
	if !c.has() || !reached(now, c.Until) {
		c.Until = now
	}
	c.State, c.Why, c.Due = Ended, why, false
	if at := c.Claimed(); at != 0 {
		c.send(now, at, Round{Command: Release, No: All(conf.Masters) &^ at}, out) // they are known not to have the lock
	}
}

// Claimed returns the masters that may have a hold of the owner, or an entry in their queue.
func (c *Attempt) Claimed() Set {
	var at Set
	for i := range c.Masters {
		if m := &c.Masters[i]; m.Reached || m.Open > 0 {
			at |= 1 << i
		}
	}
	return at
}

// deadline returns until when a vote is valid that was given for lease by a command sent at an
// instant. It counts from when the command was sent: no other moment that the client knows is
// surely before the master's.
func deadline(sent clock.Instant, lease time.Duration) clock.Instant {
	return sent.Add(clock.Validity(lease, 0))
}

func reached(now, at clock.Instant) bool { return now.Left(at) <= 0 }

// decide decides over the masters of which yes agreed and no will not agree any more.
func (conf *Config) decide(yes, no int) quorum.Result { return quorum.Vote(conf.Masters, yes, no) }
