package main

import (
	"fmt"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script/twin"
)

// What a client does that keeps its locks, as multilock does in keep.go.

// keeps reports whether the client of caller c keeps its locks.
func (k *Case) keeps(c int) bool { return c < k.Keepers }

// keeping reports whether the client of an owner keeps its locks.
func (k *Case) keeping(o twin.Owner) bool {
	return o != 0 && o < twin.Readers && k.keeps(callerOf(o))
}

// unlock gives the hold of caller c back. What may stay with its client is not released yet.
func (w *World) unlock(k *Case, c int) {
	p, left := &w.Callers[c], protocol.HoldEvent{Kind: protocol.HoldLeft}
	if !k.keeps(c) {
		w.hold(k, c, left)
		return
	}
	out := w.stepHold(k, c, 0, left)
	var stays bool
	if p.Kept, stays = p.Hold.Keep(p.Kept.Token, p.Kept.Last); stays {
		p.Parting = true
		w.noteText("C%d unlocks, and may KEEP the lock", c)
		return
	}
	w.release(k, c, out.Release, true)
}

// park has the client of caller c keep what it gave back, unless somebody else wants it.
func (w *World) park(k *Case, c int) {
	p := &w.Callers[c]
	p.Parting = false
	if p.Wanted || w.clock(c).Left(p.Kept.Until) <= 0 {
		w.recall(k, c)
		return
	}
	p.Keeping, p.KeepOver = true, w.Now+int64(k.Keep)
	w.noteText("C%d KEEPS the lock", c)
	for i := range p.Renewals {
		p.Renewals[i].Old = p.Renewals[i].Used
	}
}

// takeOver makes a hold of what the client of caller c keeps.
func (w *World) takeOver(k *Case, c int) {
	p := &w.Callers[c]
	kept := p.Kept // of which no token is used up, so that the states have an end
	until, ok := kept.Take(w.clock(c), ticks(k.lease(c)), true)
	if !ok {
		w.recall(k, c)
		return
	}
	p.Keeping, p.List = false, p.room[:0]
	w.noteText("C%d takes over what it KEPT", c)
	w.hold(k, c, protocol.HoldEvent{
		Kind: protocol.HoldWon, Until: until, At: p.Hold.At, Wish: w.wish(k, c, 0),
	})
}

// recall gives back what the client of caller c keeps.
func (w *World) recall(k *Case, c int) {
	p := &w.Callers[c]
	p.Keeping = false
	w.sendAll(k, w.giveBack(k, c, max(w.Clock, p.Token)), p.Hold.At)
}

// wanted has a client learn that somebody else wants what its owner has.
func (w *World) wanted(k *Case, c int, o twin.Owner) {
	p := &w.Callers[c]
	switch {
	case o != w.current(c):
	case p.Keeping:
		w.noteText("C%d is told that its lock is wanted", c)
		w.recall(k, c)
	default: // also before it is held, or once that is over and what becomes of it is not decided
		p.Wanted = true
	}
}

// want publishes that an owner's lock is wanted, which a master has refused to somebody, or taken away.
func (w *World) want(k *Case, m uint8, o twin.Owner) {
	if k.keeping(o) && w.hears(k, o) {
		client := k.client(callerOf(o))
		w.put(Message{Master: m, Client: uint8(client), Channel: post, Kind: wanted, Owner: o}, k.back(client, int(m)))
	}
}

// holder is who has the lock, as a client is told.
func (k *Case) holder(h protocol.Holder) protocol.Holder {
	if h == protocol.Nobody {
		return h
	}
	if k.keeping(whose(h)) {
		return h | protocol.Keeps
	}
	return h
}

// keepOver gives back what was kept for long enough.
func (w *World) keepOver(k *Case, c int) {
	p := &w.Callers[c]
	if p.Keeping && (w.Now >= p.KeepOver || w.clock(c).Left(p.Kept.Until) <= 0) {
		w.recall(k, c)
	}
}

// keeping codes what a client that keeps its locks knows of one.
func (c *coder) keeping(p *Caller) {
	spent := p.Kept.Token == p.Kept.Last
	c.flags(&p.Parting, &p.Keeping, &spent, &p.Wanted)
	if c.reading {
		p.Kept = protocol.Kept{Last: protocol.Range}
		if spent {
			p.Kept.Token = protocol.Range
		}
	}
	if p.Parting || p.Keeping {
		p.Kept.Until = c.exact(p.Kept.Until)
	}
	if p.Keeping {
		p.KeepOver = c.tick(p.KeepOver)
	}
}

// kept has locks that stay with their clients.
func (t *table) kept() {
	f := t.family("kept/", "", Case{Masters: 3, Callers: 2, Delay: 1, Lease: 12, Keep: 8, Keepers: 1})
	any := Case{Starts: true}
	for d := 1; d <= 2; d++ {
		far := any.with(Case{Delay: d, Lease: 12 * d, Keep: 8 * d})
		f.add(fmt.Sprint("two/", d), far)
		f.add(fmt.Sprint("two keep/", d), far.with(Case{Keepers: 2}))
		f.add(fmt.Sprint("one keeps, one tries/", d), far.with(Case{Tries: 1}))
		f.add(fmt.Sprint("two, renewed/", d), far.with(Case{Watch: true}))
	}
	f.add("three", Case{Callers: 3})
	f.add("three keep", Case{Callers: 3, Keepers: 3, Nightly: true})
	f.add("two, a master is dead", any.with(Case{Dead: 1}))
	f.add("two, clocks differ", any.with(Case{Drift: true}))
	f.add("a writer, a reader", any.with(Case{Roles: "WR"}))
	f.add("a writer, a reader tries", any.with(Case{Roles: "WR", Tries: 1}))
	f.add("two, extended, slow", any.once(slow).with(Case{Extends: true}))
	f.add("two, renewed, long, slow", any.once(slow).with(Case{Lease: 42, Keep: 40, Watch: true}))
	f.faults("two, ", any, always)
	f.faults("one keeps, one tries, ", any.with(Case{Tries: 1}), ^freezeLink)
	f.faults("two, renewed, ", any.with(Case{Watch: true}), loseHandOff|crash|restart|force|slow)
}
