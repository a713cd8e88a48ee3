package main

import (
	"example.com/redlock/multilock/protocol"
)

// What a caller has won, who shares it, and what it knows of clocks, as a part of a state.

func (c *coder) hold(caller int, p *Caller) {
	h := &p.Hold
	state := c.small8(uint8(h.State), &h.Due)
	h.State = protocol.HoldState(state)
	c.flags(&h.Watched, &h.Shared, &h.Limited)
	var used uint8
	for i := range p.Renewals {
		used |= b2(p.Renewals[i].Used) << i
	}
	used = c.u8(used)
	if h.Live() {
		h.Until, h.Lease = c.exact(h.Until), ticks(c.k.lease(caller))
		if h.Due {
			h.RenewAt = c.instant(h.RenewAt)
		}
		c.entries(caller, p)
	}
	if c.k.Enters > 0 && p.Unsent > 0 {
		p.Made = c.u8(p.Made)
	} else {
		p.Made = 1
	}
	if h.Live() || p.Unsent > 0 {
		p.Token = c.token(p.Token)
	}
	for i := range p.Renewals {
		if r := &p.Renewals[i]; used>>i&1 == 1 {
			r.Used = true
			c.flags(&r.Told, &r.Shared, &r.Later, &r.Old)
			r.Sent, r.Lease = c.ago(r.Sent, c.k.Lease), ticks(c.k.lease(caller))
		}
	}
}

// entries codes who shares a hold.
func (c *coder) entries(i int, p *Caller) {
	if c.reading {
		p.List = p.room[:1]
	}
	if c.k.Enters == 0 {
		p.Inside = 1
	} else {
		p.Inside, p.Orphaned = c.u8(p.Inside), c.u8(p.Orphaned)
		shared := len(p.List)
		if two(c, &shared, &p.Asked); c.reading {
			p.List = p.room[:shared]
		}
	}
	for j := range p.List {
		e := &p.List[j]
		if c.k.Enters > 0 {
			two(c, &e.Key, &e.State)
		}
		limit := e.Limit
		if c.reading {
			e.Wish = c.w.wish(c.k, i, e.Key)
		}
		if e.Limited {
			e.Limit = c.instant(limit)
		}
	}
	if limit := p.Limit; p.Limited {
		p.Limit = c.instant(limit)
	}
}

// again codes whether a contender enters a hold again.
func (c *coder) again(caller int, p *protocol.Contender) {
	of := &c.w.Callers[caller]
	again := p.Want.Again
	if c.flags(&again, &of.Reader); !again {
		return
	}
	of.Attempt = c.u8(of.Attempt)
	if c.reading {
		p.Want = protocol.Want{Lease: ticks(c.k.lease(caller)), Again: true}
	}
}

// gained codes what a caller knows of the clock of master m, and does not.
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
