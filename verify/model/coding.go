package main

import (
	"math/bits"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// A key consists of the head, and of a column for each master. What can have no effect any more is left out.

func (c *coder) head() {
	w := c.w
	w.Faults = c.u8(w.Faults)
	if c.k.Comes > 0 {
		w.Comes = c.u8(w.Comes)
	}
	if c.k.Enters > 0 {
		w.Enters = c.u8(w.Enters)
	}
	if c.k.Tokens {
		w.Clock = c.token(w.Clock)
		w.Top.holds = c.token(w.Top.holds)
		if c.k.Roles != "" {
			w.Top.writers = c.token(w.Top.writers)
		}
	}
	for _, i := range c.callers[:c.k.Callers] {
		c.caller(i)
	}
}

func (c *coder) caller(i int) {
	p := &c.w.Callers[i]
	if c.reading {
		p.Last = uint32(c.u8(0))
	} else {
		c.rank(0, &c.names.owners[i], int64(p.Last))
	}
	forced, barred := p.Forced && !p.gone(), p.Barred && !p.gone()
	c.flags(&p.Crashed, &p.Asleep, &p.Meant, &forced, &barred, &p.Placed)
	if c.k.half(i) {
		c.flags(&p.Joined)
	}
	if c.k.Kinds&(still|jump) != 0 {
		c.flags(&p.Still, &p.Doubt)
		p.Behind = int8(c.u8(uint8(p.Behind)))
	}
	c.clock = c.w.clock(i)
	if c.reading {
		p.Forced, p.Barred = forced, barred
	}
	c.attempt(i, p)
	if c.k.returns(i) || !p.gone() {
		p.Since = c.since(p.Since)
	}
	if c.reading && p.gone() {
		p.Gone = uint8(i + 1)
	}
}

func (c *coder) attempt(caller int, of *Caller) {
	p := &of.Attempt
	if c.reading {
		p.Masters, p.Rounds = of.masters[:c.k.config(caller).Masters], of.rounds[:]
	}
	most := uint8(4) // more change nothing
	if !c.k.want(caller).Wait {
		most = 15
	}
	state, backOffs := p.State, min(p.BackOffs, most)
	if has(p) || p.State == attempt.Ended {
		backOffs = 0
	}
	if two(c, &state, &backOffs); c.reading {
		p.State, p.BackOffs = state, backOffs
	}
	if p.State == attempt.Idle || p.State == attempt.Ended {
		return
	}
	shared := p.Want.Shared
	if c.reading {
		p.Want, p.Try, p.Begun = c.k.want(caller), 1, c.clock
	}
	if c.k.Downgrade {
		c.flags(&shared)
		p.Want.Shared = shared
	}
	if c.k.Keepers > 0 {
		first, spent := p.Round == 1, p.Spare == 0
		if c.flags(&p.Recalled, &p.Wanted, &first, &spent); c.reading && !spent {
			p.Spare = attempt.Range - 1
		}
		if c.reading && first {
			p.Round = 1
		}
	} else {
		p.Wanted = false
	}
	if c.reading && p.Round == 0 {
		p.Round = usual
	}
	if counts(p) || p.State == attempt.Paused {
		p.AskAt = c.instant(p.AskAt)
	}
	if p.State == attempt.Minority || p.State == attempt.Kept {
		p.GiveBackAt = c.instant(p.GiveBackAt)
	}
	if p.State == attempt.Paused {
		c.entries(caller, of)
		return
	}
	if !has(p) {
		p.HeldUntil = c.instant(p.HeldUntil)
	}
	p.Token = c.token(p.Token)
	c.rounds(caller, of)
	if !counts(p) {
		p.Until = c.exact(p.Until)
		c.flags(&p.Short)
	}
	if p.State == attempt.Settling {
		p.Raises = c.u8(p.Raises)
	}
	c.entries(caller, of)
}

// usual is the number of the last round, if all that matters is that it is not the first.
const usual = 10

// rounds codes the rounds that something names, and from which of them on answers say who has the lock.
func (c *coder) rounds(caller int, of *Caller) {
	p := &of.Attempt
	named := c.u8(c.names.rounds[caller])
	c.names.rounds[caller] = named
	heldAsOf := uint8(maxRounds) // of those that are named the last that does not tell
	for ago := range maxRounds {
		r, mark := &p.Rounds[maxRounds-1-ago], &of.Marks[maxRounds-1-ago]
		if named>>ago&1 == 0 {
			if !c.reading {
				continue
			}
			r.Settled = true
			continue
		}
		if !c.reading && p.Round-ago <= p.HeldAsOf {
			heldAsOf = min(heldAsOf, uint8(ago))
		}
		full := r.Lease > 0
		command := uint8(r.Command)
		v := c.u8(command | b2(r.Settled)<<4 | b2(r.Renewal)<<5 | b2(r.Shared)<<6 | b2(mark.Later)<<7)
		r.Command = attempt.Command(v & 7)
		r.Settled, r.Renewal, r.Shared, mark.Later = v>>4&1 == 1, v>>5&1 == 1, v>>6&1 == 1, v>>7 == 1
		r.Sent = c.ago(r.Sent, c.k.Lease)
		switch r.Command {
		case attempt.Ask, attempt.Register, attempt.Follow:
			r.Lease = ticks(int(c.handOff(uint8(r.Lease / tick))))
		case attempt.Raise:
			r.Token = c.token(r.Token)
		default:
			r.Count = int32(c.small(int(r.Count)))
			if c.flags(&full); c.reading && full {
				r.Lease = ticks(c.k.lease(caller))
			}
		}
		if c.reading {
			r.Number = p.Round - ago
		}
	}
	if has(p) {
		return
	}
	refreshing := b2(p.Refreshing)
	two(c, &heldAsOf, &refreshing)
	p.Refreshing = refreshing == 1
	if c.reading && uint32(heldAsOf) < maxRounds {
		p.HeldAsOf = p.Round - uint32(heldAsOf)
	}
}

// master codes what a master has.
func (c *coder) master(m int) {
	p := &c.w.Masters[m]
	c.flags(&p.Dead, &p.Saved)
	p.Guard = c.tick(p.Guard)
	c.kept(&p.kept)
	if p.Saved {
		c.kept(&p.Copy)
	}
}

// known codes what all callers know of a master.
func (c *coder) known(m int) {
	for _, i := range c.callers[:c.k.Callers] {
		c.knows(m, i)
	}
}

// links codes the links of a master.
func (c *coder) links(m int) {
	for _, client := range c.callers[:c.k.Callers] {
		if c.k.client(client) == client {
			c.link(m, client)
		}
	}
}

func (c *coder) kept(p *kept) {
	l := &p.Lock
	l.Holder = c.owner(l.Holder)
	switch l.Holder {
	case 0:
	case twin.Readers:
		for i := range c.u8(uint8(len(filled(l.Reading[:])))) {
			r := &l.Reading[i]
			r.Owner, r.Until = c.owner(r.Owner), c.millis(r.Until)
		}
		p.last()
	default:
		l.Expires = c.millis(l.Expires)
		if l.Count = max(l.Count, 1); c.k.Enters > 0 {
			l.Count = int32(c.u8(uint8(l.Count)))
		}
	}
	l.Counter = c.token(l.Counter)
	queued, marked := len(filled(l.Queue[:])), len(filled(l.Forced[:]))
	two(c, &queued, &marked)
	for i := range queued {
		e := &l.Queue[i]
		e.Owner = c.owner(e.Owner)
		e.Since = c.since(e.Since)
		e.Round = c.round(e.Owner, e.Round, true)
		e.Proposal = c.token(e.Proposal)
		e.Stale = c.millis(e.Stale)
		e.Lease = millis(int64(c.handOff(uint8(e.Lease / millis(1)))))
		e.Mode, e.Polls = mode(c.k.reads(callerOf(e.Owner))), c.k.deaf(callerOf(e.Owner))
		l.QueueExpires = millis(c.w.Now) + forever
	}
	for i := range marked {
		mark := &l.Forced[i]
		mark.Owner, mark.Until = c.owner(mark.Owner), c.millis(mark.Until)
	}
}

// knows codes what a caller knows of a master.
func (c *coder) knows(m, caller int) {
	if !c.k.has(caller, m) {
		return
	}
	p := &c.w.Callers[caller]
	c.clock = c.w.clock(caller)
	c.gained(m, caller)
	m = c.k.place(caller, m)
	if counts(&p.Attempt) || p.State == attempt.Settling {
		c.vote(&p.Attempt, m)
	}
	if has(&p.Attempt) {
		c.holds(&p.Attempt, m)
	}
	for named := c.names.rounds[caller]; named > 0; named &= named - 1 {
		i := int(maxRounds) - 1 - bits.TrailingZeros8(named)
		r := &p.Rounds[i]
		if r.Command > attempt.Follow && !r.Settled {
			c.set(m, &r.Yes, &r.No, &r.Silent)
		}
		if r.Command == attempt.Extend && c.k.Kinds&jump != 0 {
			c.set(m, &p.Marks[i].Denied)
		}
	}
}

// handOff codes the lease of a hand-off, in ticks. There is only one, unless some callers ask less often.
func (c *coder) handOff(lease uint8) uint8 {
	if c.k.Far == 0 && c.k.Less == 0 {
		return c.k.handOff
	}
	return c.u8(lease)
}

// ahead codes how many waiters are before one, if that matters.
func (c *coder) ahead(n uint8) uint8 {
	if c.k.Far == 0 {
		return 0
	}
	return c.u8(n)
}

// set codes whether the master at place m is in each of sets.
func (c *coder) set(m int, sets ...*attempt.Set) {
	var v uint8
	for i, s := range sets {
		v |= b2(s.Has(m)) << i
	}
	v = c.u8(v)
	for i, s := range sets {
		*s |= attempt.Set(v>>i&1) << m
	}
}

func (c *coder) vote(p *attempt.Attempt, m int) {
	x := &p.Masters[m]
	c.flags(&x.Voted, &x.HandedOff, &x.Answered, &x.Reached, &x.Said, &x.Latest)
	two(c, &x.Outcome, &x.Open)
	if x.Voted {
		x.Until = c.exact(x.Until)
	}
	if x.Said && x.Outcome == attempt.No {
		x.Holder = c.party(x.Holder)
		x.Free = c.instant(x.Free)
		x.Ahead = int32(c.ahead(uint8(x.Ahead)))
	} else if c.reading {
		x.Holder, x.Free, x.Ahead = 0, clock.Instant{}, 0
	}
	x.Token = c.token(x.Token)
}

// holds codes what a caller that has the lock knows of a master. A vote that ends no later than the q-th longest makes no
// difference any more.
func (c *coder) holds(p *attempt.Attempt, m int) {
	x := &p.Masters[m]
	longer := x.Voted && p.Until.Sub(x.Until) < 0 && c.clock.Left(x.Until) > 0
	open := uint8(0)
	if !x.Reached {
		open = uint8(x.Open)
	}
	flags := b2(longer) | b2(x.Reached)<<1
	two(c, &open, &flags)
	if c.reading {
		x.Open, x.Reached, x.Voted, x.Until = int32(open), flags>>1 == 1, true, p.Until
	}
	if flags&1 == 1 {
		x.Until = c.exact(x.Until)
	}
}

// entries codes the entries of a hold.
func (c *coder) entries(caller int, of *Caller) {
	p := &of.Attempt
	if !has(p) {
		if c.reading {
			p.Entries = of.room[:1]
			p.Entries[0] = attempt.Entry{Key: uint8(0), Wish: c.k.wish(caller, 0, 0)}
		}
		return
	}
	watched, limited := p.Watched, p.For > 0
	if c.flags(&p.Due, &watched, &limited); p.Due {
		p.RenewAt = c.instant(p.RenewAt)
	}
	shared, counted := len(p.Entries), int(p.Counted)
	if c.k.Enters == 0 && c.k.Keepers == 0 {
		of.Inside, shared = 1, 1
		counted = 1
	} else {
		of.Inside, of.Orphaned, of.Waits = c.u8(of.Inside), c.u8(of.Orphaned), c.u8(of.Waits)
		two(c, &shared, &counted)
	}
	if p.Counted = int32(counted); c.reading {
		p.Entries = of.room[:shared]
		p.Wish = attempt.Wish{Watched: watched, Lease: ticks(c.k.lease(caller))}
		if limited {
			p.For = ticks(c.k.Limit)
		}
	}
	for j := range p.Entries {
		e := &p.Entries[j]
		var key uint8
		if !c.reading {
			key = e.Key.(uint8)
		} else {
			e.State = attempt.Inside
		}
		limit, ago := e.Limit, p.Round-e.Round+1
		if e.Round == 0 || e.State != attempt.Asked {
			ago = 0
		}
		if c.k.Enters+c.k.Keepers > 0 {
			two(c, &key, &e.State)
			ago = uint32(c.u8(uint8(ago)))
		}
		if c.reading {
			e.Key, e.Wish = key, c.k.wish(caller, key, of.Waits)
			if e.Round = 0; ago > 0 {
				e.Round = p.Round + 1 - ago
			}
		}
		if e.For > 0 && e.State != attempt.Asked {
			e.Limit = c.instant(limit)
		}
	}
	if limit := p.Limit; p.For > 0 {
		p.Limit = c.instant(limit)
	}
}

// gained codes what has become of the clock of master m, and what a caller knows of that.
func (c *coder) gained(m, caller int) {
	if c.k.Kinds&(still|jump) == 0 {
		return
	}
	p := &c.w.Callers[caller]
	p.Gained[m] = c.u8(p.Gained[m])
	steady := p.Steady[m] > 0
	more := &p.Lag.More[c.k.place(caller, m)]
	if c.flags(&steady); steady {
		p.Steady[m], *more = c.tick(p.Steady[m]), ticks(c.small(int(*more/tick)))
	}
}

// link codes what is under way between a client and a master.
func (c *coder) link(m, client int) {
	l := &c.w.Links[m][client]
	i, _ := c.w.Messages.each(m, client, up)
	_, j := c.w.Messages.each(m, client, ghost)
	any := i < j
	c.flags(&l.Frozen, &l.Down, &l.Dirty, &any)
	if l.Frozen && !l.Down {
		l.Quiet = c.u8(l.Quiet)
	}
	if !any {
		return
	}
	var counts [channels]int
	for ch := range channels {
		i, j := c.w.Messages.each(m, client, ch)
		counts[ch] = j - i
	}
	two(c, &counts[up], &counts[down])
	two(c, &counts[post], &counts[ghost])
	for ch := range channels {
		for range counts[ch] {
			if c.reading {
				c.w.Messages.insert(i, Message{Master: uint8(m), Client: uint8(client), Channel: ch})
			}
			c.message(&c.w.Messages.list[i])
			i++
		}
	}
}

func (c *coder) message(x *Message) {
	v := c.u8(uint8(x.Kind) | uint8(x.Command)<<3 | b2(x.Yield)<<5 | b2(x.Shared)<<6)
	x.Kind, x.Command, x.Yield, x.Shared = kind(v&7), attempt.Command(v>>3&3), v>>5&1 == 1, v>>6&1 == 1
	if c.k.Enters > 0 && (x.Kind == count || x.Kind == renew) {
		x.Count = c.u8(x.Count)
	} else {
		x.Count = 1
	}
	x.Due = c.u8(x.Due)
	x.Owner = c.owner(x.Owner)
	x.Token = c.token(x.Token)
	if x.Channel == down {
		x.Outcome = attempt.Outcome(c.u8(uint8(x.Outcome)))
	}
	if x.Kind != release && x.Kind != wanted {
		x.Round = c.round(x.Owner, x.Round, x.Kind == handOff)
	}
	switch x.Kind {
	case ask:
		if x.Channel == down {
			if x.Outcome == attempt.No {
				x.Holder = c.owner(x.Holder)
				x.Left = c.millis(x.Left+millis(c.w.Now)) - millis(c.w.Now)
				x.Ahead = c.ahead(x.Ahead)
			}
		} else {
			x.Since, x.Lease = c.since(x.Since), c.handOff(x.Lease)
		}
	case count:
		x.Lease = c.u8(x.Lease)
	case release:
		if x.Next = c.owner(x.Next); x.Next != 0 {
			x.Behind = c.since(x.Behind)
			x.Round, x.Lease = c.round(x.Next, x.Round, true), c.handOff(x.Lease)
		}
	}
}
