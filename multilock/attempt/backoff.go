package attempt

import (
	"time"

	"example.com/redlock/clock"
)

// How an attempt backs off: it gives back the votes it has, and goes on as a new owner.

// maxSplits is how often an attempt that does not wait asks for a lock that nobody got.
const maxSplits = 6

// keepVotes starts the time for which a minority of votes is kept. A round that is sent meanwhile does
// not extend it, or callers who ask again before they are answered would never back off.
func (c *Attempt) keepVotes(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	if c.State != Minority {
		c.State = Minority
		c.GiveBackAt = now.Add(c.patience(conf, ev, out))
	}
}

// keepVotesFor keeps a minority for d at most, since somebody else has a majority. If that owner gave the lock back just
// as our round was sent, the answers that say so are in by then.
func (c *Attempt) keepVotesFor(now clock.Instant, d time.Duration) {
	if at := now.Add(d); c.State != Minority || at.Left(c.GiveBackAt) > 0 {
		c.State, c.GiveBackAt = Minority, at
	}
}

// patience returns how long a minority of votes is kept: longer than a majority takes, longer
// each time, and random, so that one of two owners that share the masters gives way.
func (c *Attempt) patience(conf *Config, ev *Event, out *Effects) time.Duration {
	unit := conf.BackOff << min(c.BackOffs, 4)
	return ev.Trip + unit + ev.draw(2*unit+ev.Trip, out)
}

// backOff decides what becomes of a minority of votes.
func (c *Attempt) backOff(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	switch {
	case c.Refreshing:
		// What the masters said before tells nothing of those that have not handed off.
		c.State = Waiting
		c.ask(conf, now, ev, out)
	case c.holder(conf, false) != Nobody:
		c.yield(conf, now, ev, out)
	default:
		c.giveWay(conf, now, ev, out)
	}
}

// yield gives back what the owner has while somebody else has a majority. Nobody else can win, so the
// votes are not handed off: the holder may need them to heal.
//
// The new owner is in the queue before the old one leaves it, so the holder's release finds
// one of them. Where the holder was named, and that release comes first, the old owner gives the
// lock back, and the new one is handed it.
func (c *Attempt) yield(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	var named Set
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Outcome == No && m.Holder != Nobody && !m.Voted {
			named |= 1 << i
		}
	}
	c.newOwner(Waiting, out)
	out.Release, out.Yield = out.Release&named, out.Release&^named
	c.ask(conf, now, ev, out)
	c.sooner(conf, now, ev, max(0, now.Left(c.HeldUntil))+conf.Settle+c.stagger(conf))
}

// giveWay gives back what the owner has, and enters the queue again as a new one.
//
// Others give way at the same time, and an owner that the answers name may just have been handed their votes. So these
// answers do not say that the next round cannot win: if it were a Register, it could not confirm a hand-off that is
// under way.
func (c *Attempt) giveWay(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.BackOffs = max(c.BackOffs, c.BackOffs+1) // it never wraps
	c.newOwner(Waiting, out)
	c.ask(conf, now, ev, out)
	c.HeldAsOf = c.Round
}

// stepAside gives back what the owner has, and leaves the queue for a random time: longer each time. In
// the queue at once, it would be handed the same votes again, and get nowhere: a master that is out of
// memory raises no counter, but hands the lock off.
func (c *Attempt) stepAside(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.newOwner(Waiting, out)
	if at := now.Add(c.patience(conf, ev, out)); !TooShort(c.Want.Lease, ev.Trip) {
		c.AskAt = at
	}
	c.BackOffs = max(c.BackOffs, c.BackOffs+1)
}

// pause gives back what there is when the votes were split, and makes the attempt ask again after a
// random time: longer each time, so that owners who collide again and again soon miss each other.
func (c *Attempt) pause(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.newOwner(Paused, out)
	c.AskAt = now.Add(time.Millisecond + ev.draw(conf.Split<<min(c.BackOffs, maxSplits-2)+ev.Trip, out))
	c.BackOffs++
}

// recall pauses for as long as it takes a client that keeps the lock to hear that it is wanted, and to give it
// back.
func (c *Attempt) recall(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.Recalled = true
	c.newOwner(Paused, out)
	c.AskAt = now.Add(ev.Trip + 2*conf.Settle)
}

// newOwner gives back what the owner may have, and goes on in a state as a new one, at its old place in the
// queue. An owner is never used again, so that its release frees only what it should.
func (c *Attempt) newOwner(state State, out *Effects) {
	out.NewOwner, out.Release = true, c.Claimed()
	c.State = state
	c.Try++
	clear(c.Rounds)
	c.Raises, c.Refreshing, c.Wanted = 0, false, false
	for i := range c.Masters {
		m := &c.Masters[i]
		*m = Master{Said: m.Said, Outcome: m.Outcome, Hopeless: m.Hopeless, Holder: m.Holder, Free: m.Free, Ahead: m.Ahead}
	}
}
