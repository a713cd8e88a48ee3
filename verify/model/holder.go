package main

import (
	"slices"

	"example.com/redlock/multilock/protocol"
)

// What a client does for a hold: it sends the renewals that are due, counts their answers with
// Renewal.Step, and gives back what Step wants given back.

// hold has a hold take an event.
func (w *World) hold(k *Case, c int, ev protocol.HoldEvent) { w.entry(k, c, 0, ev) }

// entry has a hold take an event that is about one of its entries, or about none, and sends what follows.
func (w *World) entry(k *Case, c int, key uint8, ev protocol.HoldEvent) (out protocol.HoldEffects) {
	p := &w.Callers[c]
	from := p.Hold.State
	out = w.stepHold(k, c, key, ev)
	if out.Release != 0 {
		w.release(k, c, out.Release, from != p.Hold.State)
	}
	if k.half(c) && from != p.Hold.State && !p.Hold.Live() {
		w.parted(k, c)
	}
	return out
}

// stepHold has a hold take an event, and checks what becomes of it.
func (w *World) stepHold(k *Case, c int, key uint8, ev protocol.HoldEvent) (out protocol.HoldEffects) {
	p := &w.Callers[c]
	now := w.clock(c)
	from, over := p.Hold.State, p.Held && ev.Kind != protocol.HoldWon && (!p.Hold.Live() || now.Left(p.Hold.Until) <= 0)
	ev.Trip = ticks(k.Trip)
	p.Step(k.config(c), now, key, &ev, &out)
	w.noteHold(k, c, ev)
	w.share(k, c, key, &ev, &out)
	if ev.Kind != protocol.HoldWon {
		k.holdArrow(w, from, p.Hold.State)
	}
	if over && p.Hold.Live() && now.Left(p.Hold.Until) > 0 {
		w.violate(revived)
	}
	return out
}

// release gives back what a hold has at some masters. The first time, that enters the next caller.
func (w *World) release(k *Case, c int, at protocol.Set, first bool) {
	x := w.giveBack(k, c, max(w.Clock, w.Callers[c].Token))
	if next, ok := w.nextInLine(k, c); ok && first {
		w.enterBy(k, next, x, at)
		return
	}
	w.sendAll(k, x, at)
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
	out := w.stepContender(k, c, protocol.Event{Kind: protocol.Enter, At: at}, 0)
	x.Next, x.Behind, x.Round, x.Lease = w.current(c), p.Since, out.Round, uint8(out.Lease/tick)
	w.sendAll(k, x, at)
	out.Enter = false
	w.effect(k, c, &out)
}

// renews is the event of a renewal that is meant: of the watchdog, or of a caller.
func (k *Case) renews() protocol.HoldKind {
	if k.Extends {
		return protocol.HoldExtend
	}
	return protocol.HoldRenew
}

// makeRenewal makes the renewal that an event wants, unless the hold has ended.
func (w *World) makeRenewal(k *Case, c int, kind protocol.HoldKind) (made bool) {
	p := &w.Callers[c]
	p.Meant = false
	out := w.entry(k, c, 0, protocol.HoldEvent{Kind: kind})
	if out.Renew {
		p.Made = uint8(p.Count())
	}
	return out.Renew
}

// downgrade makes a reader of a writer: first to itself, then at the masters, with a renewal.
func (w *World) downgrade(k *Case, c int) {
	if w.makeRenewal(k, c, protocol.HoldDowngrade) {
		w.sendRenewal(k, c)
	}
}

// sendRenewal sends the renewal that was made. The hold may have ended since.
func (w *World) sendRenewal(k *Case, c int) {
	p := &w.Callers[c]
	i := slices.IndexFunc(p.Renewals[:], func(r Renewal) bool { return !r.Used })
	if i < 0 {
		w.cut = true
		return
	}
	w.startNext(k, c)
	all := protocol.All(k.config(c).Masters)
	p.Renewals[i] = Renewal{Used: true, Renewal: protocol.Renewal{
		Sent: w.clock(c), Lease: p.Lease, Shared: p.Hold.Shared,
	}, Later: true}
	w.sendAll(k, Message{
		Client: uint8(k.client(c)), Kind: renew, Owner: w.current(c), Shared: p.Hold.Shared,
		Round: uint32(i), Token: p.Token, Count: p.Made,
	}, all)
	w.hold(k, c, protocol.HoldEvent{Kind: protocol.HoldSent, At: all})
}

// renewed counts the answer to a renewal. denied says that the master does not have the hold, whether or not
// that counts.
func (w *World) renewed(k *Case, c int, x *Message, denied bool) {
	p := &w.Callers[c]
	if x.Owner != w.current(c) || !p.Held {
		return // of a hold that nobody remembers
	}
	r := &p.Renewals[x.Round]
	ev, told := r.Step(k.config(c), k.place(c, int(x.Master)), x.Found)
	if denied {
		r.Denied |= 1 << k.place(c, int(x.Master))
	}
	renewal := *r
	if r.Yes|r.Absent|r.Nothing == protocol.All(k.config(c).Masters) {
		*r = Renewal{}
	}
	if told && !renewal.Old {
		w.hold(k, c, ev)
		w.settle(k, c, &renewal, ev.Kind)
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
	if p.live() && p.Hold.Due && now.Left(p.Hold.RenewAt) <= 0 && !p.unsettled() {
		p.Meant = true
	}
}
