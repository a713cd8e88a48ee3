package attempt

import (
	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// How the masters agree on the fencing token of what was won.
//
// A majority that answered the largest counter has agreed already, at no cost. Otherwise the other
// masters are asked to raise their counters to the largest. A master that has that number already,
// or a larger one, refuses, since the number may be somebody else's: then all are asked to raise
// their counters to one more than the largest. So no two holds have the same token, and that of a
// later hold is larger. Validity runs on meanwhile.
//
// Readers share a token, which is no smaller than that of any writer before them, and smaller than
// that of any writer after them. So the largest counter that was read will do, once a majority has
// that or a larger one: a master where the reader is in never refuses to raise its counter to it.

// maxRaises is how often the masters are asked to agree on a fencing token before what was won
// is given up. Once is enough unless somebody else raises the counters meanwhile.
const maxRaises = 3

// Range is how many fencing tokens an owner takes whose client keeps its locks, as acquire.lua has it: the
// counter is the last of them, and none of them was any owner's before.
const Range = 1000

// settle follows a majority of valid votes.
func (c *Attempt) settle(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	// The counter of a master whose vote has ended does not count: the master may have restarted
	// since, and have forgotten it.
	var tokens [Max]int64
	least := int64(0)
	whole := c.Want.Keep && (!c.Want.Wait || c.Round == 1) // a hand-off takes one token alone
	for i := range conf.Masters {
		m := &c.Masters[i]
		least = max(least, m.Token)
		if m.Voted {
			tokens[i] = m.Token
			whole = whole && !m.HandedOff
		}
	}
	if c.Spare = 0; whole {
		c.Spare = Range - 1
	}
	token, agreed := quorum.Agreed(conf.Masters, tokens[:conf.Masters], least)
	if agreed {
		c.hold(conf, now, token, ev)
		return
	}
	c.State = Settling
	c.raise(conf, now, token, out)
}

// raise asks the masters whose counter is not token yet to raise it to that.
func (c *Attempt) raise(conf *Config, now clock.Instant, token int64, out *Effects) {
	c.Raises++
	c.Token = max(c.Token, token) // a master may accept it, and its answer be lost
	r := Round{Command: Raise, Token: token}
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Voted && m.Token == token {
			r.Yes |= 1 << i
		}
	}
	c.send(now, All(conf.Masters)&^r.Yes, r, out)
}

// agree gives the hold the token of another hold: at once if that is among the tokens that are its own, or else once no
// counter of a majority is below it.
func (c *Attempt) agree(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	switch {
	case ev.Token <= c.Token:
	case ev.Token <= c.Last():
		c.Token, c.Spare = ev.Token, c.Last()-ev.Token
	default:
		c.send(now, All(conf.Masters), Round{Command: Raise, Token: ev.Token}, out)
	}
}

// raised counts the answer of a master to the raise under way. What was answered to one before
// counts for nothing.
func (c *Attempt) raised(conf *Config, now clock.Instant, r *Round, ev *Event, out *Effects) {
	c.Token = max(c.Token, ev.Token)
	switch result := r.tally(conf, ev); {
	case result == Pending:
	case result == Confirmed && !reached(now, c.Until):
		c.hold(conf, now, r.Token, ev)
	case result == Confirmed:
		c.unsettled(conf, now, Late, ev, out)
	case c.Raises == maxRaises || c.Want.Shared: // a reader is refused only where it is not in
		c.unsettled(conf, now, NoToken, ev, out)
	default:
		c.raise(conf, now, c.Token+1, out)
	}
}

// unsettled gives up what was won without a token.
func (c *Attempt) unsettled(conf *Config, now clock.Instant, why Why, ev *Event, out *Effects) {
	switch {
	case !c.Want.Wait:
		c.end(conf, now, why, out)
	case why == NoToken:
		c.stepAside(conf, now, ev, out)
	default:
		c.giveWay(conf, now, ev, out)
	}
}
