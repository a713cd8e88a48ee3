package protocol

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// Want is what a caller wants of a [Contender].
type Want struct {
	Lease time.Duration // whole milliseconds
	Wait  bool          // until the lock is free; otherwise it tries, a few times at most
	Again bool          // enter a lock that the owner holds already
	Keep  bool          // its client keeps locks: take a range of fencing tokens

	Shared bool // together with other readers
}

// Contender is a caller's try for a lock, from the first round until it is won or given up. It asks
// all masters at once. If the lock is taken and the caller waits, it stands in the queues of the
// masters, which hand the lock off. Each grant and each hand-off is a vote that is valid for a
// time.
//
// The zero Contender with its Want set is Idle.
//
// Source: docs/how-it-works.md, "Acquire" and "Waiting".
type Contender struct {
	Want    Want
	State   State
	Verdict Verdict

	Try      uint32 // the owner: each has one try at a free lock
	Round    uint32 // the last one
	BackOffs uint8  // and pauses after a split
	Recalled bool   // it has paused for a lock that another client may only keep

	Begun     clock.Instant
	AskAt     clock.Instant // when the next round is due
	BackOffAt clock.Instant // in Minority
	Until     clock.Instant // from Settling on: end of validity
	Short     bool          // from Settling on: it was handed off, for a short lease

	// Refreshing: a hand-off was counted since the last round, so that its answers tell nothing of
	// those masters that have not handed off.
	Refreshing bool

	HeldUntil clock.Instant // until when one owner has a majority, by what the masters said last
	HeldAsOf  uint32        // answers to rounds up to this one do not tell that any more

	Token   int64 // the largest fencing counter that was read, or asked for; from Won on the hold's token
	Raises  uint8 // of this try
	RaiseTo int64 // of the raise under way
	Raised  Set   // masters that have just this number
	Unraise Set   // masters that will not have it

	Rounds  [maxRounds]Round // the last ones; none has Number 0
	Masters [Max]Master
}

// Round is one command to all masters.
type Round struct {
	Number uint32
	Sent   clock.Instant
	Lease  time.Duration // of a hand-off that names it
	Some   bool          // it went to some masters only, so it cannot be lost
	Queue  bool          // it only kept the caller in the queue: a yes is no grant
}

// maxRounds are remembered; older ones are out of date.
const maxRounds = 8

// Master is what a contender knows of a master.
type Master struct {
	// Its vote.
	Until     clock.Instant // of the vote
	Voted     bool
	HandedOff bool // the vote is a hand-off

	Answered bool  // a round of this owner
	Reached  bool  // it may have an entry in its queue, or a grant
	Open     int32 // commands that are not answered

	// What it said last, to this owner or an earlier one.
	Said     bool
	Latest   bool // to this owner's last round
	Hopeless bool
	Outcome  Outcome
	Holder   Holder
	Free     clock.Instant // when the lock is free there
	Ahead    int32         // how many stand before the caller in its queue

	Token int64 // the largest fencing counter that it answered to this owner
}

// Step is the whole protocol of a contender. It takes what happened at an instant, and says what to
// send. An event whose Try is not the contender's is about an owner that it gave up: it changes
// nothing.
func (c *Contender) Step(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	*out = Effects{}
	switch ev.Kind {
	case Start:
		if c.State == Idle {
			c.begin(now)
			if c.AskAt = now.Add(ev.Delay); ev.Delay == 0 {
				c.first(conf, now, ev, out)
			}
		}
	case Enter:
		if c.State == Idle {
			c.begin(now)
			c.State = Queued
			c.enter(conf, now, ev, ev.At, out)
		}
	case Answer:
		if c.contends() && ev.Try == c.Try {
			c.answer(conf, now, ev, out)
		}
	case Entered:
		if c.contends() && ev.Try == c.Try {
			m := &c.Masters[ev.Master]
			m.Open--
			m.Reached = m.Reached || ev.Outcome != Unsent
		}
	case HandedOff:
		if c.contends() && ev.Try == c.Try && c.Want.Wait { // others stand in no queue
			c.handedOff(conf, now, ev, out)
		}
	case Raised:
		if c.State == Settling && ev.Try == c.Try && ev.Round == uint32(c.Raises) {
			c.raised(conf, now, ev, out)
		}
	case Hint:
		if c.contends() {
			c.askSoon(conf, now, ev, ev.Delay+ev.draw(ev.Delay, out)+c.stagger(conf))
		}
	case Due:
		c.due(conf, now, ev, out)
	case Doubt:
		if !c.Over() {
			c.doubt(conf, now, ev.Master)
		}
	case Take:
		if c.State == Won {
			c.take(conf, now, ev, out)
		}
	case GiveUp:
		c.fail(GivenUp, out)
	}
	out.Read = c.Token
}

// begin begins the first try. No instant of it is a zero one, which would mean nothing.
func (c *Contender) begin(now clock.Instant) {
	c.Try = 1
	c.Begun, c.HeldUntil = now, now
}

// first asks for the first time.
func (c *Contender) first(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.State = Asking
	c.ask(conf, now, ev, All(conf.Masters), out)
}

// contends reports whether votes count.
func (c *Contender) contends() bool {
	switch c.State {
	case Asking, Queued, Waiting, Minority:
		return true
	}
	return false
}

// Over reports whether the contender is done: taken, or failed.
func (c *Contender) Over() bool { return c.State == Taken || c.State == Failed }

// Wake returns when to call Step with [Due], and false if nothing is due at any time. As long
// as the first round may win there is nothing to time: each master answers, or is taken to
// have failed.
func (c *Contender) Wake() (at clock.Instant, ok bool) {
	switch c.State {
	case Idle:
		return c.AskAt, c.Try > 0
	case Queued, Waiting, Paused:
		return c.AskAt, true
	case Minority:
		if c.AskAt.Left(c.BackOffAt) < 0 {
			return c.BackOffAt, true
		}
		return c.AskAt, true
	}
	return clock.Instant{}, false
}

// due does what is due.
func (c *Contender) due(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	switch {
	case c.State == Idle && c.Try > 0 && reached(now, c.AskAt):
		c.first(conf, now, ev, out)
	case c.State == Minority && reached(now, c.BackOffAt):
		c.backOff(conf, now, ev, out)
	case c.State == Paused && reached(now, c.AskAt):
		c.State = Asking
		c.Masters = [Max]Master{} // each try is judged by its own answers
		c.ask(conf, now, ev, All(conf.Masters), out)
	case (c.State == Queued || c.State == Waiting || c.State == Minority) && reached(now, c.AskAt):
		c.takeStock(conf, out)
		c.ask(conf, now, ev, All(conf.Masters), out)
	}
}

// take lets the caller have what was won, unless it was too slow.
func (c *Contender) take(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	switch {
	case !reached(now, c.Until):
		c.State = Taken
	case c.Want.Wait:
		c.giveWay(conf, now, ev, out)
	default:
		c.fail(Late, out)
	}
}

// fail ends the contender without the lock, and gives back what it may have. A hold that was only
// to be entered again stays: the hold itself sees to its release.
func (c *Contender) fail(why Verdict, out *Effects) {
	if c.Over() {
		return
	}
	if !c.Want.Again {
		out.Release = c.Claimed()
	}
	c.State, c.Verdict = Failed, why
}

// Claimed returns the masters that may have a grant of the owner, or an entry in their queue.
func (c *Contender) Claimed() Set {
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
