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
		// Nobody else can win, and the holder may need the votes that we have to heal. So
		// hand them off to nobody, and wait without taking any.
		c.State = Waiting
		c.anew(out)
		out.Yield = true
		c.sooner(conf, now, c.patience(conf, ev, out))
	default:
		c.giveWay(conf, now, ev, out)
	}
}

// giveWay gives back what the owner has, and enters the queue again as a new one. While its place
// is not known, nobody hands the lock off to it, so it asks again soon.
func (c *Contender) giveWay(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.State = Waiting
	c.BackOffs++
	c.anew(out)
	if ev.Placed {
		c.enter(conf, now, ev, out.Release, out)
	} else {
		c.sooner(conf, now, c.patience(conf, ev, out))
	}
}

// pause gives back what a contender has when the votes were split, and makes it ask again after a
// random time: longer each time, so that owners who collide again and again soon miss each other.
func (c *Contender) pause(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.State = Paused
	c.anew(out)
	c.AskAt = now.Add(time.Millisecond + ev.draw(conf.Split<<c.BackOffs+ev.Trip, out))
	c.BackOffs++
}

// anew gives back what the owner may have, and makes the contender begin anew, as a new owner at its
// old place in the queue. An owner is never used again, so that its release frees only what it
// should.
func (c *Contender) anew(out *Effects) {
	out.Release, out.NewOwner = c.Claimed(), true
	c.Try++
	c.Rounds = [maxRounds]Round{}
	c.Raises, c.Refreshing = 0, false
	for i := range c.Masters {
		m := &c.Masters[i]
		*m = Master{Said: m.Said, Outcome: m.Outcome, Hopeless: m.Hopeless, Holder: m.Holder, Free: m.Free}
	}
}
