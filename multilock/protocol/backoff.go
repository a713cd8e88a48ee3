package protocol

import (
	"time"

	"example.com/redlock/clock"
)

// How a contender backs off: it gives back the votes it has, and begins anew.

// maxSplits is how often a contender that does not wait asks for a lock that nobody got.
const maxSplits = 6

// keep starts the time for which a minority of votes is kept. A round that is sent meanwhile does
// not extend it, or callers who ask again before they are answered would never back off.
func (c *Contender) keep(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	if c.State != Minority {
		c.State = Minority
		c.BackOffAt = now.Add(c.patience(conf, ev, out))
	}
}

// keepFor keeps a minority for d at most: somebody else has a majority. If he gives it back at this
// moment, what crossed our round is known by then.
func (c *Contender) keepFor(now clock.Instant, d time.Duration) {
	if at := now.Add(d); c.State != Minority || at.Left(c.BackOffAt) > 0 {
		c.State, c.BackOffAt = Minority, at
	}
}

// patience returns how long a minority of votes is kept: longer than a majority takes, longer
// each time, and random, so that one of two owners that share the masters gives way.
func (c *Contender) patience(conf *Config, ev *Event, out *Effects) time.Duration {
	unit := conf.BackOff << min(c.BackOffs, 4)
	return ev.Trip + unit + ev.draw(2*unit+ev.Trip, out)
}

// backOff decides what becomes of a minority of votes.
func (c *Contender) backOff(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	switch {
	case c.Refreshing:
		// What the masters said before tells nothing of those that have not handed off.
		c.takeStock(conf, out)
		c.State = Waiting
		c.ask(conf, now, ev, All(conf.Masters), out)
	case c.held(conf):
		c.yield(conf, now, ev, out)
	default:
		c.giveWay(conf, now, ev, out)
	}
}

// yield gives back what the owner has while somebody else has a majority. Nobody else can win, so the
// votes are not handed off: the holder may need them to heal.
//
// The new owner is in the queue as soon as the old one has left it, so the holder's release finds
// one of them. Where the holder was named, and that release comes first, the old owner gives the
// lock back, and the new one is handed it.
func (c *Contender) yield(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	var named Set
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Said && m.Outcome == No && m.Holder != Nobody && !m.Voted {
			named |= 1 << i
		}
	}
	c.anew(Waiting, out)
	out.Yield = out.Release &^ named
	c.enter(conf, now, ev, out.Release, out)
	c.sooner(conf, now, ev, now.Left(c.HeldUntil)+conf.Settle+c.stagger(conf))
}

// giveWay gives back what the owner has, and enters the queue again as a new one.
func (c *Contender) giveWay(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.BackOffs++
	c.anew(Waiting, out)
	c.enter(conf, now, ev, out.Release, out)
}

// stepAside gives back what the owner has, and leaves the queue for a random time: longer each time. In
// the queue at once, it would be handed the same votes again, and get nowhere: a master that is out of
// memory raises no counter, but hands the lock off.
func (c *Contender) stepAside(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.anew(Waiting, out)
	if at := now.Add(c.patience(conf, ev, out)); !TooShort(c.Want.Lease, ev.Trip) {
		c.AskAt = at
	}
	c.BackOffs++
}

// pause gives back what a contender has when the votes were split, and makes it ask again after a
// random time: longer each time, so that owners who collide again and again soon miss each other.
func (c *Contender) pause(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.anew(Paused, out)
	c.AskAt = now.Add(time.Millisecond + ev.draw(conf.Split<<min(c.BackOffs, maxSplits-2)+ev.Trip, out))
	c.BackOffs++
}

// anew gives back what the owner may have, and makes the contender begin anew in a state, as a new owner at
// its old place in the queue. An owner is never used again, so that its release frees only what it
// should.
func (c *Contender) anew(state State, out *Effects) {
	c.State = state
	out.Release, out.NewOwner = c.Claimed(), true
	c.Try++
	c.Rounds = [maxRounds]Round{}
	c.Raises, c.Refreshing = 0, false
	for i := range c.Masters {
		m := &c.Masters[i]
		*m = Master{Said: m.Said, Outcome: m.Outcome, Hopeless: m.Hopeless, Holder: m.Holder, Free: m.Free, Ahead: m.Ahead}
	}
}
