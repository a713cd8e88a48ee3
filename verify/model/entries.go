package main

import (
	"math/bits"
	"slices"

	"example.com/redlock/multilock/protocol"
)

// Callers that share an owner enter its hold again, and leave it, as in multilock/entries.go.

// What must never be of the entries of a hold.
const (
	freedUnder   = "entries: a hold was given back under an entry that was not"
	heldByNobody = "entries: a hold goes on that nobody has an entry of"
	miscounted   = "entries: a master that answered all counts fewer than there are"
	unrenewed    = "entries: an entry wants renewals, and there are none any more"
	unwanted     = "entries: a renewal is due that no entry wants"
)

// entries are what callers who share a hold know of their own entries, and what a client needs to ask for one
// more. The protocol is not asked.
type entries struct {
	room     [maxEntries]protocol.Entry[uint8] // of the list
	Inside   uint8                             // the entries that were confirmed, and not given back: a bit for each
	Orphaned uint8                             // those that nobody can give back
	Attempt  uint8                             // at another entry, from 1: the number of that entry
	Reader   bool                              // it was asked for as a reader
	Made     uint8                             // the hold count of the renewal that was made, and is about to be sent
}

// wish is what an entry that begins now wants: to be renewed (w), with a limit (l), or a fixed lease (f).
func (w *World) wish(k *Case, c int, key uint8) protocol.Wish {
	wish := protocol.Wish{Watched: k.watches(key), Lease: ticks(k.lease(c))}
	if k.limits(key) {
		wish.Limited, wish.Limit = true, w.clock(c).Add(ticks(k.Limit))
	}
	return wish
}

func (k *Case) watches(key uint8) bool {
	return k.Wishes == "" && k.Watch || k.Wishes != "" && k.Wishes[key] != 'f'
}

func (k *Case) limits(key uint8) bool { return k.Wishes != "" && k.Wishes[key] == 'l' }

// entries makes what those who share a hold may want: to enter it again, and to leave it.
func (x *mover) entries(it *item, c int) {
	k, p := x.k, &it.Callers[c]
	for key := range uint8(maxEntries) {
		switch bit := uint8(1) << key; {
		case p.Inside&^p.Orphaned&bit == 0:
		case k.Enters == 0:
			x.free(it, func(w *World) { w.unlock(k, c) })
		default:
			x.free(it, func(w *World) { w.unlockEntry(k, c, key) })
			if k.Leaks {
				x.maybe(it, func(w *World) {
					q := &w.Callers[c]
					q.Orphaned |= bit
					q.Leak(key)
					w.noteText("an entry of C%d LEAKS", c)
				})
			}
		}
	}
	if it.Enters > 0 && p.Contender.Over() && p.Inside != 0 {
		x.maybe(it, func(w *World) { w.enter(k, c) })
	}
}

func (w *World) unlockEntry(k *Case, c int, key uint8) {
	w.tellCount(k, c, w.entry(k, c, key, protocol.HoldEvent{Kind: protocol.HoldLeft}))
}

// tellCount sends the hold count that is left.
func (w *World) tellCount(k *Case, c int, out protocol.HoldEffects) {
	if p := &w.Callers[c]; out.Count > 0 {
		w.sendAll(k, Message{
			Client: uint8(k.client(c)), Kind: leave, Owner: w.current(c), Shared: p.Hold.Shared, Count: uint8(out.Count),
		}, p.At)
	}
}

// enter asks for another entry.
func (w *World) enter(k *Case, c int) {
	p := &w.Callers[c]
	w.Enters--
	p.Attempt = uint8(k.Enters) - w.Enters
	p.Reader = p.Hold.Shared
	out := w.entry(k, c, p.Attempt, protocol.HoldEvent{Kind: protocol.HoldEnter, Shared: p.Reader})
	if out.Count > 0 {
		p.Contender = protocol.Contender{Want: protocol.Want{Lease: ticks(k.lease(c)), Again: true}}
		w.step(k, c, protocol.Event{Kind: protocol.Start}, 0)
	}
}

// denied has the hold go on without the entry that no majority confirmed.
func (w *World) denied(k *Case, c int) {
	p := &w.Callers[c]
	w.tellCount(k, c, w.entry(k, c, p.Attempt, protocol.HoldEvent{
		Kind: protocol.HoldDenied, Lost: p.Contender.Verdict == protocol.Gone, Writer: !p.Reader,
	}))
}

// share notes what an event of a hold means for those who have an entry of it.
func (w *World) share(k *Case, c int, key uint8, ev *protocol.HoldEvent, out *protocol.HoldEffects) {
	p := &w.Callers[c]
	switch {
	case ev.Kind == protocol.HoldWon || ev.Kind == protocol.HoldEntered && p.Hold.Live():
		p.Inside |= 1 << key
	case ev.Kind == protocol.HoldLeft:
		p.Inside &^= 1 << key
	}
	switch {
	case p.Hold.State == protocol.Released && out.Release != 0 && p.Inside != 0 && ev.Kind != protocol.HoldSent:
		w.violate(freedUnder)
	case p.Hold.Live() && p.Inside == 0 && !p.contends():
		w.violate(heldByNobody)
	}
	if !p.Hold.Live() {
		p.Inside, p.Orphaned, p.Doubt = 0, 0, false // they are told
	}
}

// checkEntries looks at what the entries of a hold are promised.
func (w *World) checkEntries(k *Case, c int) {
	p := &w.Callers[c]
	if !p.live() || p.Hold.State == protocol.Short {
		return
	}
	lasts, wanted := false, false
	for key := range uint8(maxEntries) {
		if p.Inside&^p.Orphaned>>key&1 == 1 && k.watches(key) {
			left := ticks(k.Lease)
			if i := p.find(key); k.limits(key) {
				left = w.clock(c).Left(p.List[i].Limit)
			}
			wanted = wanted || left > 0
			lasts = lasts || left > protocol.RenewEvery(p.Lease)
		}
	}
	switch {
	case lasts && !p.Due && !p.unsettled() && !p.renewing():
		w.violate(unrenewed)
	case p.Due && !wanted && !p.Asleep:
		w.violate(unwanted)
	case p.Doubt && p.Due && !p.Asleep && !p.unsettled() && !p.renewing() && w.clock(c).Left(p.RenewAt) > ticks(2):
		w.violate(undoubted)
	}
}

// find returns where an entry is in the list.
func (p *Caller) find(key uint8) int {
	return slices.IndexFunc(p.List, func(e protocol.Entry[uint8]) bool { return e.Key == key })
}

// checkCounts looks for masters that have answered all, and count fewer entries than were confirmed: more than
// those where something went wrong.
func (w *World) checkCounts(k *Case, c int) {
	p, fewer := &w.Callers[c], 0
	if !p.live() || p.Barred {
		return
	}
	for m := range k.Masters {
		l := &w.Masters[m].Lock
		i, _ := w.Messages.each(m, k.client(c), up)
		_, j := w.Messages.each(m, k.client(c), ghost)
		if i == j && !w.Links[m][k.client(c)].Dirty && l.Holder == w.current(c) && int(l.Count) < bits.OnesCount8(p.Inside) {
			fewer++
		}
	}
	if wrong := k.Faults - int(w.Faults); fewer > wrong {
		w.violate(miscounted)
	}
}

// counts reports whether a command sets the hold count.
func (x *Message) counts() bool {
	return x.Kind == leave || x.Kind == ask && x.Command == protocol.EnterAgain
}

// entered has owners enter their holds again.
func (t *table) entered() {
	f := t.family("entered/", "", Case{Masters: 3, Callers: 1, Delay: 1, Lease: 12, Limit: 10, Enters: 1})
	for _, wishes := range []string{"ff", "fw", "wf", "wl"} {
		any, daily := Case{Wishes: wishes, Leaks: true}, ^freezeLink
		if wishes == "ff" {
			daily = always
		}
		f.add(wishes, any)
		f.faults(wishes+", ", any, daily)
	}
	twice := Case{Enters: 2, Wishes: "wff"}
	f.add("twice", twice)
	two := Case{Callers: 2, Wishes: "wf", Starts: true}
	f.add("two", two)
	f.add("two, crash", two.once(crash))
	f.add("two, restart", two.once(restart).with(Case{Nightly: true}))
	down := Case{Wishes: "wf", Downgrade: true}
	f.add("downgrade", down)
	f.add("downgrade, late", down.once(late))
	f.add("downgrade beside a reader", down.with(Case{Roles: "WR"}))
}
