package protocol

import (
	"time"

	"example.com/redlock/clock"
)

// Range is how many fencing tokens an owner takes whose client keeps its locks, as acquire.lua has it: the
// counter is the last of them, and none of them was any owner's before.
const Range = 1000

// First returns the fencing token of the first hold of what was won: the first of the range, if all that was
// counted are grants. A hand-off takes one token alone.
func (c *Contender) First() int64 {
	if !c.Want.Keep || c.Want.Wait && c.Round > 1 {
		return c.Token
	}
	for i := range c.Masters {
		if m := &c.Masters[i]; m.Voted && m.HandedOff {
			return c.Token
		}
	}
	return c.Token - Range + 1
}

// recall pauses for as long as it takes a client that keeps the lock to hear that it is wanted, and to give it
// back.
func (c *Contender) recall(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.Recalled = true
	c.anew(Paused, out)
	c.AskAt = now.Add(ev.Trip + 2*conf.Settle)
}

// kept reports whether a majority named a holder that may only keep the lock. This client would have taken
// over what it keeps itself, unless it is to be shared.
func (c *Contender) kept(conf *Config) bool {
	holder := c.holder(conf, false)
	return holder&Keeps != 0 && (holder&Ours == 0 || c.Want.Shared)
}

// Kept is a grant that a client keeps after the last Unlock of a lock, for its own next Lock. For the masters
// its holds are one.
//
// Source: docs/kept.md.
type Kept struct {
	Until clock.Instant // end of validity
	Token int64         // of the hold before
	Last  int64         // token of the range
}

// Keep returns what the client keeps of a hold that was given back, unless it was a reader's, or no token is
// left: none ever was if it was handed off. Nothing is kept while a renewal is still to be sent, since what
// follows a renewal of what has ended is a release.
func (h *Hold) Keep(token, last int64) (k Kept, ok bool) {
	return Kept{Until: h.Until, Token: token, Last: last}, h.State == Released && !h.Shared && h.Unsent == 0 && token < last
}

// Take makes a hold of it, for lease, and says until when that is valid. A hold that will be renewed needs half
// its lease until then, any other all of it: where less is left, the lock has to be asked for.
func (k *Kept) Take(now clock.Instant, lease time.Duration, watched bool) (until clock.Instant, ok bool) {
	left, full := now.Left(k.Until), clock.Validity(lease, 0)
	if k.Token == k.Last || left < full && (!watched || left < full/2) {
		return until, false
	}
	k.Token++
	return now.Add(min(left, full)), true
}
