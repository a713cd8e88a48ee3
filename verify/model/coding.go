package main

import (
	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script/twin"
)

// What a state consists of: the head, and a column for each master. What has no say any more is
// left out.

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
	for i := range c.k.Callers {
		c.caller(i)
	}
}

func (c *coder) caller(i int) {
	p := &c.w.Callers[i]
	if c.reading {
		p.Last = uint32(c.u8(0))
	} else {
		c.u8(c.rank(&c.names.owners[i], int64(p.Last)))
	}
	held := p.live() || p.unsettled() || p.awaits() || p.Parting || p.Keeping || p.Contender.Want.Again && p.contends()
	forced, barred := p.Forced && !p.gone(), p.Barred && !p.gone()
	unsent := p.Unsent > 0
	if c.flags(&held, &p.Crashed, &p.Asleep, &p.Meant, &unsent, &forced, &barred, &p.Placed); unsent {
		p.Unsent = 1
	}
	if c.k.half(i) {
		c.flags(&p.Joined, &p.Raising)
	}
	if c.k.Kinds&(still|jump) != 0 {
		c.flags(&p.Still, &p.Doubt)
		p.Behind = int8(c.u8(uint8(p.Behind)))
	}
	c.clock = c.w.clock(i)
	if c.reading {
		p.Forced, p.Barred = forced, barred
	}
	c.contender(i, &p.Contender)
	if held {
		p.Held = true
		c.hold(i, p)
	}
	if c.k.keeps(i) && (held || p.contends()) {
		c.keeping(p)
	}
	if c.k.returns(i) || !p.gone() {
		p.Since = c.since(p.Since)
	}
}

func (c *coder) contender(caller int, p *protocol.Contender) {
	most := uint8(4) // more change nothing
	if !c.k.want(caller).Wait {
		most = 15
	}
	state, backOffs := p.State, min(p.BackOffs, most)
	if p.Over() {
		state, backOffs = protocol.Taken, 0
	}
	if two(c, &state, &backOffs); c.reading {
		p.State, p.BackOffs = state, backOffs
	}
	if p.State == protocol.Idle || p.Over() {
		return
	}
	if c.reading {
		p.Want, p.Try, p.Begun = c.k.want(caller), 1, c.clock
	}
	if c.k.Enters > 0 {
		c.again(caller, p)
	}
	if c.k.Keepers > 0 && !c.k.want(caller).Wait {
		c.flags(&p.Recalled)
	}
	round := uint32(usual)
	if p.Round < usual && (c.names.first[caller] || c.k.keeps(caller)) { // what was won in the first may be kept
		round = p.Round
	}
	if round = uint32(c.u8(uint8(round))); c.reading {
		p.Round = round
	}
	if counts(p) || p.State == protocol.Paused {
		p.AskAt = c.instant(p.AskAt)
	}
	if p.State == protocol.Minority {
		p.BackOffAt = c.instant(p.BackOffAt)
	}
	if !active(p) {
		return
	}
	p.HeldUntil = c.instant(p.HeldUntil)
	p.Token = c.token(p.Token)
	if counts(p) {
		c.rounds(caller, p)
		return
	}
	p.Until = c.exact(p.Until)
	c.flags(&p.Short)
	if p.State == protocol.Settling {
		p.Raises = c.u8(p.Raises)
		p.RaiseTo = c.token(p.RaiseTo)
	}
}

// usual is the number of the last round where it does not matter: the first one is long ago. A
// first round is entered into the queues in another way than others.
const usual = 10

// rounds codes those rounds that something names, and since which one answers tell who has the
// lock.
func (c *coder) rounds(caller int, p *protocol.Contender) {
	named := uint8(c.names.rounds[caller])
	named = c.u8(named)
	heldAsOf := uint8(maxRounds) // of those that are named the last that does not tell
	for ago := range maxRounds {
		if named>>ago&1 == 0 {
			continue
		}
		if !c.reading && p.Round-ago <= p.HeldAsOf {
			heldAsOf = min(heldAsOf, uint8(ago))
		}
		r := &p.Rounds[maxRounds-1-ago]
		c.flags(&r.Some, &r.Queue)
		r.Sent = c.ago(r.Sent, c.k.Lease)
		r.Lease = ticks(int(c.handOff(uint8(r.Lease / tick))))
		if c.reading {
			r.Number = p.Round - ago
		}
	}
	heldAsOf = c.small8(heldAsOf, &p.Refreshing)
	if c.reading && uint32(heldAsOf) < maxRounds {
		p.HeldAsOf = p.Round - uint32(heldAsOf)
	}
}

// small8 codes a small number and a flag in a byte.
func (c *coder) small8(v uint8, flag *bool) uint8 {
	x := c.u8(v | b2(*flag)<<7)
	*flag = x>>7 == 1
	return x & 127
}

// column codes a master with its links, and what callers know of it.
func (c *coder) column(m int) {
	p := &c.w.Masters[m]
	c.flags(&p.Dead, &p.Saved)
	p.Guard = c.tick(p.Guard)
	c.kept(&p.kept)
	if p.Saved {
		c.kept(&p.Copy)
	}
	for i := range c.k.Callers {
		c.known(m, i)
	}
	for client := range c.k.Callers {
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
		e.Round = c.round(e.Owner, e.Round)
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

// known codes what a caller knows of a master.
func (c *coder) known(m, caller int) {
	if !c.k.has(caller, m) {
		return
	}
	p := &c.w.Callers[caller]
	c.clock = c.w.clock(caller)
	c.gained(m, caller)
	m = c.k.place(caller, m)
	if active(&p.Contender) {
		c.vote(&p.Contender, m)
	}
	if !p.Held {
		return
	}
	if p.live() || p.Parting || p.Keeping {
		c.set(m, &p.Hold.At)
	}
	if p.Raising {
		c.set(m, &p.Raised, &p.Unraised)
	}
	for i := range p.Renewals {
		if r := &p.Renewals[i]; r.Used {
			c.set(m, &r.Yes, &r.Absent, &r.Nothing, &r.Denied)
		}
	}
}

// handOff codes the lease of a hand-off, in ticks: one, unless some ask less often.
func (c *coder) handOff(lease uint8) uint8 {
	if c.k.Far == 0 && c.k.Less == 0 {
		return c.k.handOff
	}
	return c.u8(lease)
}

// ahead codes how many stand before a waiter, where that matters.
func (c *coder) ahead(n uint8) uint8 {
	if c.k.Far == 0 {
		return 0
	}
	return c.u8(n)
}

// set codes whether the master at place m is in each of sets.
func (c *coder) set(m int, sets ...*protocol.Set) {
	var v uint8
	for i, s := range sets {
		v |= b2(s.Has(m)) << i
	}
	v = c.u8(v)
	for i, s := range sets {
		*s |= protocol.Set(v>>i&1) << m
	}
}

func (c *coder) vote(p *protocol.Contender, m int) {
	x := &p.Masters[m]
	c.flags(&x.Voted, &x.HandedOff, &x.Answered, &x.Reached, &x.Said, &x.Latest)
	two(c, &x.Outcome, &x.Open)
	if x.Voted && counts(p) {
		x.Until = c.exact(x.Until)
	}
	if x.Said && x.Outcome == protocol.No {
		x.Holder = c.party(x.Holder)
		x.Free = c.instant(x.Free)
		x.Ahead = int32(c.ahead(uint8(x.Ahead)))
	} else if c.reading {
		x.Holder, x.Free, x.Ahead = 0, clock.Instant{}, 0
	}
	x.Token = c.token(x.Token)
	if p.State == protocol.Settling {
		c.set(m, &p.Raised, &p.Unraise)
	}
}
