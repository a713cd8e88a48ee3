package main

import (
	"example.com/redlock/multilock/attempt"
)

// The entries of what a caller has, and what it knows of clocks, as a part of a state.

// entries codes who shares a hold.
func (c *coder) entries(caller int, of *Caller) {
	p := &of.Attempt
	if !has(p) {
		if c.reading {
			p.Entries = of.room[:1]
			p.Entries[0] = attempt.Entry{Key: uint8(0), Wish: c.k.wish(caller, 0)}
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
		of.Inside, of.Orphaned = c.u8(of.Inside), c.u8(of.Orphaned)
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
			e.Key, e.Wish = key, c.k.wish(caller, key)
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
