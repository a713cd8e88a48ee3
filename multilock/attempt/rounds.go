package attempt

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// Command is what a round sends.
type Command uint8

const (
	Ask      Command = iota // take the lock if it is free; otherwise a caller that waits enters the queue
	Register                // enter the queue, or stay there: somebody else has the lock for a while
	Follow                  // nothing: a release of the same client enters the caller into the queue
	Raise                   // raise the fencing counter to Token
	Extend                  // renew the hold for Lease, and heal it with Count and Token
	Count                   // set the hold count, and renew the hold for Lease
	Release                 // give back what there is, and leave the queue. It is repeated until it is answered

	commands
)

func (c Command) String() string {
	return [commands]string{"ask", "register", "follow", "raise", "extend", "count", "release"}[c]
}

// Asks reports whether it asks for the lock, or for a place in the queue.
func (c Command) Asks() bool { return c == Ask || c == Register }

// Round is one command to all masters, and what they answered.
type Round struct {
	Sent   clock.Instant
	Lease  time.Duration // of Ask, Register and Follow: for which the lock may be handed off
	Token  int64         // of Raise and Extend
	Number uint32
	Count  int32 // of Extend and Count: the hold count

	Yes, No, Silent Set // what masters answered
	Command         Command
	Shared          bool // it was sent for a reader
	Renewal         bool // it is one that was due
	Settled         bool
}

// Result is what a round came to.
type Result uint8

const (
	Pending   Result = iota
	Confirmed        // by a majority; of Release, that does not have the hold
	Failed           // all have answered, and it is neither of the others
	Denied           // so few have the hold that somebody else may have the lock; of Release, may have had it
)

// MaxRounds are remembered at most; older ones are out of date.
const MaxRounds = 8

// send sends r to the masters in at, as the next round.
func (c *Attempt) send(now clock.Instant, at Set, r Round, out *Effects) {
	c.Round++
	r.Number, r.Sent, r.Shared = c.Round, now, c.Want.Shared
	c.remember(r)
	out.Send, out.Round = at, r
	for i := range c.Masters {
		if at.Has(i) {
			c.Masters[i].Open++
		}
	}
}

// remember puts r behind the rounds that are remembered, in the place of one of them. There is room for more of them
// where the answers to that one still matter.
func (c *Attempt) remember(r Round) {
	first := c.oldest()
	if old := &c.Rounds[first]; len(c.Rounds) < MaxRounds && old.Number > 0 && !old.Settled && (old.Command >= Raise || !c.has()) {
		c.Rounds = append(make([]Round, MaxRounds-len(c.Rounds), MaxRounds), c.Rounds...)
		first = 0
	}
	copy(c.Rounds[first:], c.Rounds[first+1:])
	c.Rounds[len(c.Rounds)-1] = r
}

// oldest returns the place of the round that is forgotten for the next one: the first whose answers matter to nothing but
// a caller that waits for them. Of the others, more than one is seldom under way, and the last is what counts.
func (c *Attempt) oldest() int {
	for i := range c.Rounds {
		if r := &c.Rounds[i]; r.Settled || r.Command < Extend || r.Command == Extend && !r.Renewal {
			return i
		}
	}
	for i := range c.Rounds {
		if c.Rounds[i].Command == Extend {
			return i
		}
	}
	return 0
}

// round returns a round of this owner, nil if it is forgotten.
func (c *Attempt) round(number uint32) *Round {
	for i := range c.Rounds {
		if c.Rounds[i].Number == number {
			return &c.Rounds[i]
		}
	}
	return nil
}

// tally counts the answer of a master to a round, and returns what that decides, once.
func (r *Round) tally(conf *Config, ev *Event) Result {
	switch ev.Outcome {
	case Yes:
		r.Yes |= 1 << ev.Master
	case No:
		r.No |= 1 << ev.Master
	default:
		r.Silent |= 1 << ev.Master
	}
	if r.Settled {
		return Pending
	}
	result := r.result(conf)
	r.Settled = result != Pending
	return result
}

func (r *Round) result(conf *Config) Result {
	yes, no, in := r.Yes.Len(), r.No.Len(), r.Yes|r.No|r.Silent == All(conf.Masters)
	switch r.Command {
	case Release:
		// Those that lacked the hold may have been somebody else's; those that freed it now were ours until then.
		free := conf.decide(yes+no, 0) == quorum.Won
		switch lost := conf.decide(no, yes); {
		case lost == quorum.Won:
			return Denied
		case free && (in || lost == quorum.Lost):
			return Confirmed
		}
	default:
		if r.Command == Raise {
			no += r.Silent.Len() // there is a next one
		}
		switch conf.decide(yes, no) {
		case quorum.Won:
			return Confirmed
		case quorum.Lost:
			return Denied
		}
	}
	if in {
		return Failed // not before: what is still to come may decide it
	}
	return Pending
}

// ask asks all masters for the lock.
func (c *Attempt) ask(conf *Config, now clock.Instant, ev *Event, out *Effects) {
	c.askBy(c.command(conf, now), conf, now, ev, out)
}

func (c *Attempt) askBy(command Command, conf *Config, now clock.Instant, ev *Event, out *Effects) {
	pause, lease := c.times(conf, now, ev)
	for i := range conf.Masters {
		c.Masters[i].Latest = false
	}
	c.send(now, All(conf.Masters), Round{Command: command, Lease: lease}, out)
	c.Refreshing = false
	c.AskAt = now.Add(pause)
	if grid := min(conf.Grid, pause/4); grid > 0 {
		late := now.Sub(clock.Instant{}) % grid
		c.AskAt = now.Add(pause - (late+grid)%grid)
	}
}

// command returns what the next round sends. While somebody else surely has the lock it only
// keeps the caller in the queue: a grant of one master would be in the way of the holder, who
// may need that master to heal.
func (c *Attempt) command(conf *Config, now clock.Instant) Command {
	if now.Left(c.HeldUntil) > 0 && !c.Refreshing && c.votes(conf) == 0 {
		return Register
	}
	return Ask
}

// times returns how long to wait from one round to the next, and the lease for which the lock may
// be handed off in answer to it: never longer than the one that is wanted, since a guard covers no
// more. Both grow with how many stand before the caller, and while its own client has the lock, unless
// it has to ask to get the lock.
func (c *Attempt) times(conf *Config, now clock.Instant, ev *Event) (pause, lease time.Duration) {
	pause = min(max(conf.FirstPause, now.Sub(c.Begun)/2), conf.LastPause)
	if ahead := c.Ahead(conf); ev.Told && conf.far(ahead) {
		pause = max(pause, min(conf.LastPause*time.Duration(ahead+1)/time.Duration(conf.Near), conf.FarPause))
	}
	if ev.Told && c.holder(conf, false)&Ours != 0 {
		pause = max(pause, conf.OwnPause)
	}
	pause += ev.Trip
	if !TooShort(c.Want.Lease, ev.Trip) {
		pause = min(pause, c.Want.Lease/2)
	}
	left := min(pause, 2*conf.LastPause+ev.Trip) // of the lease, when the next round is due
	lease = min(pause+left+2*ev.Trip, c.Want.Lease)
	return pause.Truncate(time.Millisecond), lease.Truncate(time.Millisecond)
}

// TooShort reports whether a lease is used up before the answers come that grant it. Nothing can be won
// then, so who waits asks no sooner than the time between two rounds.
func TooShort(lease, trip time.Duration) bool { return clock.Validity(lease, trip) <= 0 }

// Ahead returns how many stand before the caller by what the masters said last: at most so many at
// a majority of them. One that forgot its queue makes nobody the first.
func (c *Attempt) Ahead(conf *Config) int {
	var room [Max]int
	told := room[:0]
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Outcome == No {
			told = append(told, int(m.Ahead))
		}
	}
	return quorum.Ahead(conf.Masters, told)
}

// far reports whether a waiter is far from the head of the queue.
func (conf *Config) far(ahead int) bool { return conf.Near > 0 && ahead >= conf.Near }

// stagger returns how much later a caller asks than those near the head, when all have reason to:
// one after the other, so that those who are farther away mostly need not ask any more.
func (c *Attempt) stagger(conf *Config) time.Duration {
	if ahead := c.Ahead(conf); conf.far(ahead) {
		return min(time.Duration(ahead)*conf.Stagger, conf.FarPause)
	}
	return 0
}

// askSoon makes the next round due after d at the latest, and one that may win: it forgets that the
// lock was held.
func (c *Attempt) askSoon(conf *Config, now clock.Instant, ev *Event, d time.Duration) {
	c.HeldUntil, c.HeldAsOf = now, c.Round
	c.sooner(conf, now, ev, d)
}

// sooner makes the next round due after d at the latest, unless nothing can be won then.
func (c *Attempt) sooner(conf *Config, now clock.Instant, ev *Event, d time.Duration) {
	if at := now.Add(max(d, conf.Settle)); at.Left(c.AskAt) > 0 && !TooShort(c.Want.Lease, ev.Trip) {
		c.AskAt = at
	}
}
