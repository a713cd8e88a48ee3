package main

import (
	"example.com/redlock/multilock/protocol"
)

// What a client does for a contender: it hands Step what happened, and sends what Step wants
// sent, the release first. Nothing is decided here.

// lots are the random numbers that are drawn: nothing, and half of what may be waited.
var lots = [2]uint32{0, 1 << 31}

// step has a contender take an event, and is true if chance had a say.
func (w *World) step(k *Case, c int, ev protocol.Event, lot uint32) (drawn bool) {
	p := &w.Callers[c]
	from := p.Contender.State
	out := w.stepContender(k, c, ev, lot)
	failed := from != protocol.Failed && p.Contender.State == protocol.Failed
	if next, ok := w.nextInLine(k, c); ok && failed {
		w.enterBy(k, next, w.giveBack(k, c, max(w.Clock, out.Read)), out.Release)
		return out.Drawn
	}
	w.effect(k, c, &out)
	switch {
	case !failed:
	case k.second(c) && w.Callers[c-1].live():
		w.unlockEntry(k, c-1, 0)
	case p.Contender.Want.Again:
		w.denied(k, c)
	}
	return out.Drawn
}

// stepContender has a contender take an event, and does nothing of what follows.
func (w *World) stepContender(k *Case, c int, ev protocol.Event, lot uint32) (out protocol.Effects) {
	p := &w.Callers[c]
	ev.Trip, ev.Lot, ev.Told = ticks(k.Trip), lot, !k.deaf(c)
	from := p.Contender.State
	p.Contender.Step(k.config(c), w.clock(c), &ev, &out)
	w.noteStep(k, c, ev)
	k.arrow(w, from, p.Contender.State)
	return out
}

// effect sends what a step wants sent.
func (w *World) effect(k *Case, c int, out *protocol.Effects) {
	p := &w.Callers[c]
	free := w.giveBack(k, c, max(w.Clock, out.Read))
	if out.NewOwner {
		p.Last++
		p.Forced, p.Wanted = false, false
	}
	x := Message{
		Client: uint8(k.client(c)), Kind: ask, Command: out.Command, Owner: w.current(c), Shared: k.reads(c), Since: p.Since,
		Round: out.Round, Lease: uint8(out.Lease / tick), Token: max(w.Clock, out.Read+1),
	}
	if out.Command == protocol.EnterAgain {
		x.Shared, x.Since, x.Attempt, x.Count = p.Hold.Shared, 0, p.Attempt, uint8(p.Count())
	}
	if out.Enter {
		free.Next, free.Behind, free.Round, free.Lease = x.Owner, x.Since, x.Round, x.Lease
	}
	w.sendAll(k, free, out.Release&^out.Yield)
	free.Yield = true
	w.sendAll(k, free, out.Yield)
	w.sendAll(k, x, out.Ask)
	w.sendAll(k, Message{
		Client: x.Client, Kind: raise, Owner: x.Owner, Shared: x.Shared,
		Round: uint32(p.Contender.Raises), Token: out.RaiseTo,
	}, out.Raise)
}

// giveBack is the release of the last owner of a caller.
func (w *World) giveBack(k *Case, c int, token int64) Message {
	p := &w.Callers[c]
	shared := k.reads(c) || p.Held && p.Hold.Shared
	return Message{Client: uint8(k.client(c)), Kind: release, Owner: w.current(c), Shared: shared, Since: p.Since, Token: token}
}

// sendAll sends x to the masters in at, which are places in the set of its client.
func (w *World) sendAll(k *Case, x Message, at protocol.Set) {
	for i, m := range k.masters(int(x.Client)) {
		if at.Has(i) {
			x.Master = uint8(m)
			w.send(k, x)
		}
	}
}

// start has a caller want the lock.
func (w *World) start(k *Case, c int) {
	w.fresh(k, c)
	w.step(k, c, protocol.Event{Kind: protocol.Start}, 0)
}

// taken has a caller want the lock, and get it at once: the messages take no time.
func (w *World) taken(k *Case, c int) {
	w.start(k, c)
	for _, m := range k.masters(c) {
		for _, ch := range []channel{up, down} {
			i, _ := w.Messages.each(m, c, ch)
			if x := w.Messages.remove(i); ch == up {
				w.carryOut(k, x, true)
			} else {
				w.receive(k, &x, 0)
			}
		}
	}
	w.take(k, c, 0)
}

// fresh makes a contender of a caller: with an owner that was never used.
func (w *World) fresh(k *Case, c int) {
	p := &w.Callers[c]
	p.Last++
	p.Contender = protocol.Contender{Want: k.want(c)}
	p.Entries, p.entries = protocol.Entries[uint8]{List: p.room[:0]}, entries{}
	p.Held, p.Forced, p.Barred, p.Token = false, false, false, 0
	p.Meant, p.Wanted, p.Joined, p.Raising = false, false, false, false
	p.Renewals = [maxRenewals]Renewal{}
}

// receive has a client take the answer or hand-off that has come, and is true if chance had a say.
func (w *World) receive(k *Case, x *Message, lot uint32) (drawn bool) {
	about := x.Owner
	if x.Kind == release {
		about = x.Next
	}
	c := callerOf(about)
	p := &w.Callers[c]
	ev := protocol.Event{
		Master: k.place(c, int(x.Master)), Try: p.Contender.Try - (p.Last - numberOf(about)), Round: x.Round,
		Outcome: x.Outcome, Token: x.Token,
	}
	denied := x.Kind == renew && x.Found == protocol.FoundAbsent
	if p.Steady[x.Master] > 0 && !x.discount() {
		return false
	}
	switch x.Kind {
	case ask:
		if again := x.Command == protocol.EnterAgain; again != p.Contender.Want.Again || again && x.Attempt != p.Attempt {
			return false // of another try, which is over
		}
		ev.Kind = protocol.Answer
		ev.Holder, ev.Left, ev.Ahead = k.holder(x.Holder), ticks(int(x.Left/millis(1))), int(x.Ahead)
	case release:
		ev.Kind = protocol.Entered
	case raise:
		ev.Kind = protocol.Raised
		w.raised(k, c, x)
	case handOff:
		ev.Kind = protocol.HandedOff
	case renew:
		w.renewed(k, c, x, denied)
		return false
	case wanted:
		w.wanted(k, c, x.Owner)
		return false
	}
	return w.step(k, c, ev, lot)
}

// take makes what a contender has won a hold.
func (w *World) take(k *Case, c int, lot uint32) (drawn bool) {
	p := &w.Callers[c]
	at := p.Contender.Claimed()
	drawn = w.step(k, c, protocol.Event{Kind: protocol.Take}, lot)
	if p.Contender.State != protocol.Taken {
		return drawn
	}
	if w.clock(c).Left(p.Contender.Until) <= 0 {
		w.violate(overAlready)
	}
	if p.Contender.Want.Again {
		w.entry(k, c, p.Attempt, protocol.HoldEvent{
			Kind: protocol.HoldEntered, Until: p.Contender.Until, Wish: w.wish(k, c, p.Attempt),
		})
		return drawn
	}
	if k.ordered() {
		w.letIn(k, c)
	}
	p.Held, p.Token = true, p.Contender.Token
	p.Kept = protocol.Kept{Last: protocol.Range}
	if p.Contender.First() == p.Contender.Token {
		p.Kept.Token = protocol.Range
	}
	w.hold(k, c, protocol.HoldEvent{
		Kind: protocol.HoldWon, Until: p.Contender.Until, At: at, Wish: w.wish(k, c, 0),
		Short: p.Contender.Short, Shared: k.reads(c),
	})
	if k.half(c) {
		w.wonHalf(k, c)
		return drawn
	}
	if k.Tokens && !w.Top.judge(p) {
		w.violate(badToken)
	}
	if !p.Contender.Short { // else the renewal that is due soon comes with it
		w.startNext(k, c)
	}
	return drawn
}

// behindAll returns a place behind all others.
func (w *World) behindAll(k *Case) int64 {
	last := int64(0)
	for c := range k.Callers {
		last = max(last, w.Callers[c].Since)
	}
	return last + 1
}
