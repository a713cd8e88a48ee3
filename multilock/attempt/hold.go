package attempt

import (
	"time"

	"example.com/redlock/clock"
)

// How a lock that is held is renewed, and what becomes of it when it is given back.
//
// A renewal that is confirmed makes the votes of those masters longer. A master that does not have the hold any
// more takes no vote away, since a later round may have healed it; but where so many lack it in one round that the
// others are no majority, the hold is lost.

// RenewEvery returns the time between two renewals of a hold: a third of its lease.
func RenewEvery(lease time.Duration) time.Duration { return lease / 3 }

// hold makes a hold of what was won.
func (c *Attempt) hold(conf *Config, now clock.Instant, token int64, ev *Event) {
	c.Token = token - c.Spare
	c.begin(conf, now, ev)
}

// begin begins a hold with its first entry.
func (c *Attempt) begin(conf *Config, now clock.Instant, ev *Event) {
	c.State, c.Counted = Held, 1
	c.Entries[0].begin(now)
	c.wish()
	c.schedule(conf, now, ev.Trip)
}

// Last returns the last fencing token that is the client's: a release and a renewal tell the masters that one.
func (c *Attempt) Last() int64 { return c.Token + c.Spare }

// renew makes a renewal: the one that is due, or one for a caller, which leaves that as it is.
func (c *Attempt) renew(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	r := Round{Command: Extend, Lease: ev.Lease, Token: c.Last(), Count: int32(len(c.Entries))}
	if ev.Kind == Downgrade {
		c.Want.Shared = true // at once: a reader may only do less
	}
	if ev.Lease == 0 {
		r.Lease = c.Lease
		if c.Short {
			r.Lease = max(r.Lease, c.Want.Lease) // those who entered may want less
		}
	}
	if r.Renewal = ev.Kind == Renew && ev.Lease == 0; r.Renewal {
		c.Due = false
		if c.Short {
			// It may end before the masters' silence is taken for a no.
			c.renewIn(now, max(ev.Trip+conf.TopUp, now.Left(c.Until)/4))
		}
	}
	c.send(now, All(conf.Masters), r, out)
}

// told counts the answer of a master to a round about what is held, or was.
func (c *Attempt) told(conf *Config, now clock.Instant, r *Round, ev *Event, out *Effects) {
	switch {
	case r.Command == Raise:
		if ev.Token >= r.Token {
			ev.Outcome = Yes // its counter is not below that
		}
	case ev.Outcome == Yes && c.has(): // a release is sent by whoever has it no more
		c.vote(now, ev.Master, deadline(r.Sent, r.Lease), false)
		c.revalue(conf, now)
	}
	result := r.tally(conf, ev)
	switch {
	case result != Denied:
	case r.Command == Raise:
		result = Failed // the hold has its own token still
	case c.has() && r.Shared != c.Want.Shared:
		result = Failed // masters that share the lock by now know no writer
		if r.Command == Count {
			c.Counted = 0 // nor its hold count, which they are told again
		}
	}
	if result == Pending {
		return
	}
	out.Settled, out.Result = r.Number, result
	switch {
	case result == Denied:
		c.end(conf, now, Lost, out)
	case c.State != Held:
	case r.Command == Raise && result == Confirmed:
		c.Token, c.Spare = r.Token, 0
	case r.Command == Count:
		c.counted(conf, now, r.Number, result == Confirmed, ev, out)
	case r.Renewal:
		c.renewed(conf, now, result == Confirmed, ev)
	}
}

// renewed plans the next renewal when one that was due was confirmed, or was not.
func (c *Attempt) renewed(conf *Config, now clock.Instant, confirmed bool, ev *Event) {
	switch {
	case confirmed:
		if c.Short {
			// The next try is not needed, unless a doubt has made it due.
			c.Short, c.Due = false, c.Watched && c.Due && reached(now, c.RenewAt)
		}
		c.schedule(conf, now, ev.Trip)
	case !c.Short: // else the next try is due already, see renew
		again := c.Lease / 10
		c.renewIn(now, min(again, max(now.Left(c.Until)/4, again/10)))
	}
}

// schedule makes the next renewal due, if one is wanted.
func (c *Attempt) schedule(conf *Config, now clock.Instant, trip time.Duration) {
	if c.Short {
		spare := now.Left(c.Until) - 2*trip // of two tries
		c.renewIn(now, max(0, min(conf.TopUp, spare/2)))
	} else {
		c.renewIn(now, RenewEvery(c.Lease))
	}
}

// renewIn makes a renewal due after d, unless one is due earlier, as long as renewals are wanted. A
// hold that was handed off is renewed to the lease that was wanted in any case.
func (c *Attempt) renewIn(now clock.Instant, d time.Duration) {
	at := now.Add(d)
	if c.Due && at.Left(c.RenewAt) <= 0 {
		at = c.RenewAt
	}
	c.Watched = c.Watched && !c.limits(at)
	if c.Watched || c.Short {
		c.Due, c.RenewAt = true, at
	}
}

// giveBack ends the hold when its last entry has left it, unless the client keeps it for its next caller: not if
// somebody else wants it, or it was a reader's, or has no token to spare, as what was handed off.
func (c *Attempt) giveBack(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	if !ev.Keep || !ev.Told || conf.Keep == 0 || c.Wanted || c.Want.Shared || c.Spare == 0 {
		c.end(conf, now, Released, out)
		return
	}
	c.State, c.Due = Kept, false
	c.GiveBackAt = now.Add(min(conf.Keep, now.Left(c.Until)))
}

// takeOver makes a hold of what is kept, with the next fencing token; it is valid for no longer than its own lease. If too
// little validity is left, the lock is given back, and has to be asked for: a hold that will be renewed needs half its
// lease, any other all of it.
func (c *Attempt) takeOver(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	left, full := now.Left(c.Until), clock.Validity(ev.Wish.Lease, 0)
	if ev.Shared || left < full && (!ev.Wish.Watched || left < full/2) {
		c.end(conf, now, Released, out)
		return
	}
	for i := range conf.Masters {
		if m := &c.Masters[i]; now.Left(m.Until) > full {
			m.Until = now.Add(full)
		}
	}
	c.revalue(conf, now)
	c.Want.Lease = min(c.Want.Lease, ev.Wish.Lease) // a longer one would count late votes for more than was granted
	for i := range c.Rounds {
		c.Rounds[i].Lease = min(c.Rounds[i].Lease, ev.Wish.Lease) // nor do late answers to its last caller's renewals
	}
	c.Token, c.Spare = c.Token+1, c.Spare-1
	c.Entries = append(c.Entries, Entry{Key: ev.Key, Wish: ev.Wish})
	c.begin(conf, now, ev)
}
