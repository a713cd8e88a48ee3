package main

import (
	"example.com/redlock/multilock/protocol"
)

// What a client does for a hold: it sends the renewals that are due, counts their answers with
// Renewal.Step, and gives back what Step wants given back.

// hold has a hold take an event.
func (w *World) hold(k *Case, c int, ev protocol.HoldEvent) {
	p := &w.Callers[c]
	now := w.clock(c)
	from, over := p.Hold.State, p.Held && ev.Kind != protocol.HoldWon && (!p.Hold.Live() || now.Left(p.Hold.Until) <= 0)
	var out protocol.HoldEffects
	p.Hold.Step(k.config(c), now, &ev, &out)
	w.noteHold(k, c, ev)
	if ev.Kind != protocol.HoldWon {
		k.holdArrow(w, from, p.Hold.State)
	}
	if over && p.Hold.Live() && now.Left(p.Hold.Until) > 0 {
		w.violate(revived)
	}
	if out.Release == 0 {
		return
	}
	x := w.giveBack(k, c, max(w.Clock, p.Token))
	if next, ok := w.nextInLine(k, c); ok && from != p.Hold.State {
		w.enterBy(k, next, x, out.Release)
		return
	}
	w.sendAll(k, x, out.Release)
}

// nextInLine returns the caller of the same client that stands behind c and has not asked yet.
func (w *World) nextInLine(k *Case, c int) (next int, ok bool) {
	for n := range k.Line {
		if k.client(n) == k.client(c) && n != c && w.Callers[n].Contender.State == protocol.Idle && w.Callers[n].Last == 0 {
			return n, true
		}
	}
	return 0, false
}

// startNext starts the caller that stands behind c, which has the lock.
func (w *World) startNext(k *Case, c int) {
	if next, ok := w.nextInLine(k, c); ok {
		w.start(k, next)
	}
}

// enterBy has a release enter caller c into the queue.
func (w *World) enterBy(k *Case, c int, x Message, at protocol.Set) {
	w.fresh(k, c)
	p := &w.Callers[c]
	ev := protocol.Event{Kind: protocol.Enter, At: at, Trip: ticks(k.Trip), Told: !k.deaf(c)}
	var out protocol.Effects
	p.Contender.Step(k.config(c), w.clock(c), &ev, &out)
	w.noteStep(k, c, ev)
	k.arrow(w, protocol.Idle, p.Contender.State)
	x.Next, x.Behind, x.Round, x.Lease = w.current(c), p.Since, out.Round, uint8(out.Lease/tick)
	x.Slot = uint8(p.Contender.Start)
	w.sendAll(k, x, at)
	out.Enter = false
	w.effect(k, c, &out)
}

// renewDue makes the renewal that is due.
func (w *World) renewDue(k *Case, c int) {
	w.hold(k, c, protocol.HoldEvent{Kind: protocol.HoldRenew, Trip: ticks(k.Trip)})
	w.Callers[c].Unsent = true
}

// downgrade makes a reader of a writer: first to itself, then at the masters, with a renewal.
func (w *World) downgrade(k *Case, c int) {
	w.hold(k, c, protocol.HoldEvent{Kind: protocol.HoldDowngrade, Trip: ticks(k.Trip)})
	w.sendRenewal(k, c)
}

// sendRenewal sends the renewal that was made. The hold may have ended since.
func (w *World) sendRenewal(k *Case, c int) {
	p := &w.Callers[c]
	p.Unsent = false
	i := 0
	for i < maxRenewals && p.Renewals[i].Used {
		i++
	}
	if i == maxRenewals {
		w.cut = true
		return
	}
	w.startNext(k, c)
	all := protocol.All(k.config(c).Masters)
	p.Renewals[i] = Renewal{Used: true, Renewal: protocol.Renewal{
		Sent: w.clock(c), Lease: ticks(k.Lease), Shared: p.Hold.Shared,
	}}
	w.sendAll(k, Message{
		Client: uint8(k.client(c)), Kind: renew, Owner: w.current(c), Shared: p.Hold.Shared, Slot: p.Slot,
		Round: uint32(i), Token: p.Token,
	}, all)
	w.hold(k, c, protocol.HoldEvent{Kind: protocol.HoldSent, At: all, Trip: ticks(k.Trip)})
}

// renewed counts the answer to a renewal.
func (w *World) renewed(k *Case, c int, x *Message) {
	p := &w.Callers[c]
	if x.Owner != w.current(c) || !p.Held {
		return // of a hold that nobody remembers
	}
	r := &p.Renewals[x.Round]
	ev, told := r.Step(k.config(c), k.place(c, int(x.Master)), x.Found)
	if r.Yes|r.Absent|r.Nothing == protocol.All(k.config(c).Masters) {
		*r = Renewal{}
	}
	if told {
		ev.Trip = ticks(k.Trip)
		w.hold(k, c, ev)
	}
}

// holdTimers does what it is time for in a hold.
func (w *World) holdTimers(k *Case, c int) {
	p := &w.Callers[c]
	now := w.clock(c)
	w.keepOver(k, c)
	if p.live() && now.Left(p.Hold.Until) <= 0 {
		w.hold(k, c, protocol.HoldEvent{Kind: protocol.HoldDue})
	}
	if p.live() && p.Hold.Due && now.Left(p.Hold.RenewAt) <= 0 {
		w.renewDue(k, c)
	}
}
