package protocol

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// How a contender asks.

// ask sends the next round to the masters in at.
func (c *Contender) ask(conf *Config, now clock.Instant, ev *Event, at Set, out *Effects) {
	c.Round++
	pause, lease := c.times(conf, now, ev)
	out.Ask, out.Command = at, c.command(conf, now)
	out.Round, out.Lease, out.Polls = c.Round, lease, c.Want.Wait && !ev.Told
	copy(c.Rounds[:], c.Rounds[1:])
	c.Rounds[maxRounds-1] = Round{
		Number: c.Round, Sent: now, Lease: lease,
		Some: at != All(conf.Masters), Queue: out.Command == QueueOnly,
	}
	c.Refreshing = false
	c.AskAt = now.Add(pause)
	if grid := min(conf.Grid, pause/4); grid > 0 {
		late := now.Sub(clock.Instant{}) % grid
		c.AskAt = now.Add(pause - (late+grid)%grid)
	}
	for i := range conf.Masters {
		c.Masters[i].Latest = false
		if at.Has(i) {
			c.Masters[i].Open++
		}
	}
}

// command returns what the next round sends. While somebody else surely has the lock it only
// keeps the caller in the queue: a grant of one master would be in the way of the holder, who
// may need that master to heal.
func (c *Contender) command(conf *Config, now clock.Instant) Command {
	switch {
	case c.Want.Again:
		return EnterAgain
	case !c.Want.Wait:
		return AskOnce
	case now.Left(c.HeldUntil) > 0 && !c.Refreshing && c.votes(conf) == 0:
		return QueueOnly
	}
	return AskOrQueue
}

// times returns how long to wait from one round to the next, and the lease for which the lock may
// be handed off in answer to it: never longer than the one that is wanted, since a guard covers no
// more. Both grow with how many stand before the caller, and while its own client has the lock, unless
// it has to ask to get the lock.
func (c *Contender) times(conf *Config, now clock.Instant, ev *Event) (pause, lease time.Duration) {
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
	lease = min(2*(pause+ev.Trip), c.Want.Lease)
	return pause.Truncate(time.Millisecond), lease.Truncate(time.Millisecond)
}

// TooShort reports whether a lease is used up before the answers come that grant it. Nothing can be won
// then, so who waits asks no sooner than the time between two rounds.
func TooShort(lease, trip time.Duration) bool { return clock.Validity(lease, trip) <= 0 }

// Ahead returns how many stand before the caller by what the masters said last: at most so many at
// a majority of them. One that forgot its queue makes nobody the first.
func (c *Contender) Ahead(conf *Config) int {
	var room [Max]int
	told := room[:0]
	for i := range conf.Masters {
		if m := &c.Masters[i]; m.Said && m.Outcome == No {
			told = append(told, int(m.Ahead))
		}
	}
	return quorum.Ahead(conf.Masters, told)
}

// far reports whether a waiter is far from the head of the queue.
func (conf *Config) far(ahead int) bool { return conf.Near > 0 && ahead >= conf.Near }

// stagger returns how much later a caller asks than those near the head, when all have reason to:
// one after the other, so that those who are farther away mostly need not ask any more.
func (c *Contender) stagger(conf *Config) time.Duration {
	if ahead := c.Ahead(conf); conf.far(ahead) {
		return min(time.Duration(ahead)*conf.Stagger, conf.FarPause)
	}
	return 0
}

// round returns a round of this try, and false if it is forgotten.
func (c *Contender) round(number uint32) (r *Round, ok bool) {
	for i := range c.Rounds {
		if c.Rounds[i].Number == number && number > 0 {
			return &c.Rounds[i], true
		}
	}
	return nil, false
}

// askSoon makes the next round due after d at the latest, and one that may win: it forgets that the
// lock was held.
func (c *Contender) askSoon(conf *Config, now clock.Instant, ev *Event, d time.Duration) {
	c.HeldUntil, c.HeldAsOf = now, c.Round
	c.sooner(conf, now, ev, d)
}

// sooner makes the next round due after d at the latest, unless that is in vain.
func (c *Contender) sooner(conf *Config, now clock.Instant, ev *Event, d time.Duration) {
	if at := now.Add(max(d, conf.Settle)); at.Left(c.AskAt) > 0 && !TooShort(c.Want.Lease, ev.Trip) {
		c.AskAt = at
	}
}

// enter has a release to the masters in at enter the caller into their queues; the other masters
// are asked as usual. The answers to this round say nothing of a majority, since those masters
// answer the release.
func (c *Contender) enter(conf *Config, now clock.Instant, ev *Event, at Set, out *Effects) {
	c.ask(conf, now, ev, All(conf.Masters)&^at, out)
	out.Enter = true
	for i := range conf.Masters {
		if at.Has(i) {
			c.Masters[i].Open++ // until Entered
		}
	}
}

// takeStock reports what the last round came to. All answers that come soon are in by now, so they
// are reported together.
func (c *Contender) takeStock(conf *Config, out *Effects) {
	if c.State == Waiting || c.State == Minority {
		out.Stock, out.Outage = true, c.contest(conf) == quorum.Unreachable // too few gave an answer that counts
	}
}
