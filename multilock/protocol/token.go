package protocol

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

// settle follows a majority of valid votes.
func (c *Contender) settle(conf *Config, out *Effects) {
	if c.Want.Again {
		c.State = Won // the hold has its token
		return
	}
	// The counter of a master whose vote has ended does not count: the master may have restarted
	// since, and have forgotten it.
	var tokens [Max]int64
	least := int64(0)
	for i := range conf.Masters {
		m := &c.Masters[i]
		least = max(least, m.Token)
		if m.Voted {
			tokens[i] = m.Token
		}
	}
	token, agreed := quorum.Agreed(conf.Masters, tokens[:conf.Masters], least)
	if agreed {
		c.State, c.Token = Won, token
		return
	}
	c.State = Settling
	c.raise(conf, token, out)
}

// raise asks the masters whose counter is not token yet to raise it to that.
func (c *Contender) raise(conf *Config, token int64, out *Effects) {
	c.Raises++
	c.RaiseTo, c.Raised, c.Unraise = token, 0, 0
	c.Token = max(c.Token, token) // a master may accept it, and its answer be lost
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Voted && m.Token == token {
			c.Raised |= 1 << i
		}
	}
	out.Raise, out.RaiseTo = All(conf.Masters)&^c.Raised, token
}

// raised counts the answer of a master to the raise under way. What was answered to one before
// counts for nothing.
func (c *Contender) raised(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.Token = max(c.Token, ev.Token)
	if ev.Outcome == Yes {
		c.Raised |= 1 << ev.Master
	} else {
		c.Unraise |= 1 << ev.Master
	}
	switch result := conf.decide(c.Raised.Len(), c.Unraise.Len()); {
	case result == quorum.Won && !reached(now, c.Until):
		c.State, c.Token = Won, c.RaiseTo
	case result == quorum.Won:
		c.unsettled(conf, now, Late, ev, out)
	case result == quorum.Pending:
	case c.Raises == maxRaises || c.Want.Shared: // a reader is refused only where it is not in
		c.unsettled(conf, now, NoToken, ev, out)
	default:
		c.raise(conf, c.Token+1, out)
	}
}

// unsettled gives up what was won without a token.
func (c *Contender) unsettled(conf *Config, now clock.Instant, why Verdict, ev *Event, out *Effects) {
	switch {
	case !c.Want.Wait:
		c.fail(why, out)
	case why == NoToken:
		c.stepAside(conf, now, ev, out)
	default:
		c.giveWay(conf, now, ev, out)
	}
}
