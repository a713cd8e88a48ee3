package main

import (
	"example.com/redlock/multilock/attempt"
)

// What is under way between a client and a master, as a part of a state.

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
	if c.k.Enters > 0 && (x.counts() || x.Kind == renew) {
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
				x.Holder = c.party(x.Holder)
				x.Left = c.millis(x.Left+millis(c.w.Now)) - millis(c.w.Now)
				x.Ahead = c.ahead(x.Ahead)
			}
		} else {
			x.Since, x.Lease = c.since(x.Since), c.handOff(x.Lease)
		}
	case count:
		x.Lease = c.u8(x.Lease)
	case release:
		x.Since = c.since(x.Since)
		if x.Next = c.owner(x.Next); x.Next != 0 {
			x.Behind = c.since(x.Behind)
			x.Round, x.Lease = c.round(x.Next, x.Round, true), c.handOff(x.Lease)
		}
	}
}
