package main

import (
	"math/bits"
	"slices"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// What a client does for an attempt: it passes what happened to Step, and sends what Step wants sent, in that order. The
// client itself decides only when the next in its line asks.

// lots are the two random numbers: no pause, and half of the longest.
var lots = [2]uint32{0, 1 << 31}

// step passes an event to an attempt and sends what follows. It reports whether the lot mattered.
func (w *World) step(k *Case, c int, ev attempt.Event, lot uint32) (drawn bool) {
	p, now := &w.Callers[c], w.clock(c)
	was, over := p.State, p.live() && now.Left(p.Until) <= 0
	ev.Trip, ev.Lot, ev.Told = ticks(k.Trip), lot, !k.deaf(c)
	var out attempt.Effects
	p.Step(k.config(c), now, &ev, &out)
	w.noteStep(k, c, ev)
	if p.State != was && !slices.ContainsFunc(attempt.Arrows, func(a attempt.Arrow) bool { return a.From == was && a.To == p.State }) {
		w.violate(noArrow)
	}
	if over && p.live() || was == attempt.Ended && p.State != was {
		w.violate(revived)
	}
	if was < attempt.Held && p.over() && p.Want.Wait && ev.Kind != attempt.Leave && ev.Kind != attempt.Lose {
		w.violate(unserved)
	}
	w.share(c, &ev, &out)
	ended := was != attempt.Ended && p.over()
	follower := nobody
	switch r := &out.Round; {
	case ended && r.Command == attempt.Release && out.Send == attempt.All(k.config(c).Masters):
		follower = w.startNext(k, c, true)
	case ended, out.Send != 0 && r.Command == attempt.Extend:
		w.startNext(k, c, false) // ahead of what lets in whoever stands in the queue
	}
	w.effect(k, c, &out, follower)
	switch {
	case was != attempt.Held && p.live():
		w.held(k, c, was)
	case ended && k.half(c):
		w.parted(k, c, was)
	}
	w.judgeRound(k, c, &out)
	return out.Drawn
}

// nobody is no caller.
const nobody = -1

// effect sends what a step wants sent. If there is a follower, the release enters it into the queue.
func (w *World) effect(k *Case, c int, out *attempt.Effects, follower int) {
	p := &w.Callers[c]
	free := w.message(k, c, release)
	if out.NewOwner {
		p.Last++
		p.Forced = false
	}
	x, r := w.message(k, c, ask), &out.Round
	x.Round, x.Lease, x.Count, x.Shared = r.Number, uint8(r.Lease/tick), uint8(r.Count), r.Shared
	switch r.Command {
	case attempt.Ask, attempt.Register:
		x.Command, x.Token = r.Command, max(w.Clock, p.Token+1)
	case attempt.Release:
		x = free
		if follower >= 0 {
			w.followed(follower, &x)
		}
	case attempt.Raise:
		x.Kind, x.Token, x.Lease = raise, r.Token, 0
	case attempt.Extend:
		x.Kind, x.Token, x.Lease = renew, r.Token, 0
	case attempt.Count:
		x.Kind, x.Token = count, 0
	}
	if r.Command != attempt.Follow { // else a release is sent
		w.sendAll(k, x, out.Send)
	}
	w.sendAll(k, free, out.Release)
	free.Yield = true
	w.sendAll(k, free, out.Yield)
	if out.Send != 0 {
		if first := p.Rounds[0].Number; first > 0 && first != p.Round-maxRounds+1 {
			panic("model: a round is remembered that is not one of the last")
		}
		copy(p.Marks[:], p.Marks[1:])
		p.Marks[maxRounds-1] = mark{Later: true}
	}
}

// message makes a command of a caller's current owner.
func (w *World) message(k *Case, c int, what kind) Message {
	p := &w.Callers[c]
	return Message{
		Client: uint8(k.client(c)), Kind: what, Owner: w.current(c), Shared: p.Want.Shared, Since: p.Since,
		Token: max(w.Clock, p.Attempt.Last()),
	}
}

// sendAll sends x to the masters in at, which are places in the set of its client.
func (w *World) sendAll(k *Case, x Message, at attempt.Set) {
	for i, m := range k.masters(int(x.Client)) {
		if at.Has(i) {
			x.Master = uint8(m)
			w.send(k, x)
		}
	}
}

// followed makes a release enter a caller into the queue.
func (w *World) followed(c int, release *Message) {
	p := &w.Callers[c]
	r := &p.Rounds[maxRounds-1]
	release.Next, release.Behind, release.Round, release.Lease = w.current(c), p.Since, r.Number, uint8(r.Lease/tick)
}

// start makes a caller ask for the lock, with a new owner.
func (w *World) start(k *Case, c int) { w.begin(k, c, false) }

// begin is start for a caller that asks, or is entered into the queue by a release that it follows.
func (w *World) begin(k *Case, c int, follows bool) {
	p := &w.Callers[c]
	p.Last++
	p.Attempt = attempt.Attempt{Want: k.want(c), Entries: p.room[:0], Masters: p.masters[:k.config(c).Masters], Rounds: p.rounds[:]}
	clear(p.Masters)
	clear(p.Rounds)
	p.Forced, p.Barred, p.Meant, p.Joined = false, false, false, false
	p.entries = entries{room: p.room}
	w.step(k, c, attempt.Event{Kind: attempt.Start, Key: uint8(0), Wish: k.wish(c, 0, 0), Follow: follows}, 0)
}

// taken gives a caller the lock at once: its messages take no time.
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
}

// receive passes an answer or a message to the client. It reports whether the lot mattered.
func (w *World) receive(k *Case, x *Message, lot uint32) (drawn bool) {
	about := x.about()
	c := callerOf(about)
	p := &w.Callers[c]
	ev := attempt.Event{
		Kind: attempt.Answer, Master: k.place(c, int(x.Master)), Try: p.Try - (p.Last - numberOf(about)), Round: x.Round,
		Token: x.Token,
	}
	denied := x.Kind == renew && x.Outcome == attempt.No
	if p.Steady[x.Master] > 0 && !x.discount() {
		return false
	}
	ev.Outcome = x.Outcome
	switch x.Kind {
	case ask:
		ev.Holder, ev.Left, ev.Ahead = k.holder(x.Holder), ticks(int(x.Left/millis(1))), int(x.Ahead)
	case release:
		ev.Kind = attempt.Followed
	case handOff:
		ev.Kind = attempt.HandedOff
	case wanted:
		ev.Kind = attempt.Wanted
	}
	if ago := p.Round - x.Round; denied && ev.Try == p.Try && ago < maxRounds {
		p.Marks[maxRounds-1-ago].Denied |= 1 << ev.Master
	}
	return w.step(k, c, ev, lot)
}

// held is called when a caller has got the lock.
func (w *World) held(k *Case, c int, was attempt.State) {
	p := &w.Callers[c]
	if w.clock(c).Left(p.Until) <= 0 {
		w.violate(overAlready)
	}
	if was == attempt.Kept {
		p.Spare = attempt.Range - 1 // no token is used up, so that the states have an end
		return
	}
	if k.ordered() {
		w.letIn(k, c)
	}
	if k.half(c) {
		w.wonHalf(k, c)
		return
	}
	if k.Tokens && !w.Top.judge(p) {
		w.violate(badToken)
	}
	if !p.Short { // else it goes with the renewal that is due soon, or with the release
		w.startNext(k, c, false)
	}
}

// startNext starts the next caller in the line of c's client, and returns it, or nobody.
func (w *World) startNext(k *Case, c int, follows bool) int {
	for n := range k.Line {
		if k.client(n) == k.client(c) && n != c && !w.Callers[n].begun() {
			w.begin(k, n, follows)
			return n
		}
	}
	return nobody
}

// leave makes a caller give an entry back, or give up.
func (w *World) leave(k *Case, c int, key uint8) {
	w.step(k, c, attempt.Event{Kind: attempt.Leave, Key: key, Keep: true}, 0)
}

// renew sends a renewal that was due, or an extension.
func (w *World) renew(k *Case, c int) {
	ev := attempt.Event{Kind: attempt.Renew}
	if k.Extends {
		ev.Lease = ticks(k.lease(c))
	}
	w.Callers[c].Meant = false
	w.step(k, c, ev, 0)
}

// behindAll returns a place in the queue behind all others.
func (w *World) behindAll(k *Case) int64 {
	last := int64(0)
	for c := range k.Callers {
		last = max(last, w.Callers[c].Since)
	}
	return last + 1
}

// keeps reports whether the client of caller c keeps its locks.
func (k *Case) keeps(c int) bool { return c < k.Keepers }

// keeping reports whether the client of an owner keeps its locks.
func (k *Case) keeping(o twin.Owner) bool {
	return o != 0 && o < twin.Readers && k.keeps(callerOf(o))
}

// want tells the client of an owner that somebody else wants its lock, if that client keeps locks.
func (w *World) want(k *Case, m uint8, o twin.Owner) {
	if k.keeping(o) && w.hears(k, o) {
		client := k.client(callerOf(o))
		w.put(Message{Master: m, Client: uint8(client), Channel: post, Kind: wanted, Owner: o}, k.back(client, int(m)))
	}
}

// holder is who has the lock, as a client is told.
func (k *Case) holder(o twin.Owner) attempt.Holder {
	if k.keeping(o) {
		return attempt.Holder(o) | attempt.Keeps
	}
	return attempt.Holder(o)
}

// entries are the model's own account of who has an entry of a hold.
type entries struct {
	room     [maxEntries]attempt.Entry // of the list
	Inside   uint8                     // the entries that were confirmed, and not given back: a bit for each
	Orphaned uint8                     // those that nobody can give back
	Waits    uint8                     // those whose callers wait for another lock
}

// wish is what an entry wants: to be renewed (w), with a limit (l), or a fixed lease (f), but to be renewed while
// its caller waits for another lock (s). waits are the entries of which that is so.
func (k *Case) wish(c int, key, waits uint8) attempt.Wish {
	wish := attempt.Wish{Watched: k.watches(key, waits), Lease: ticks(k.lease(c))}
	if k.limits(key) {
		wish.For = ticks(k.Limit)
	}
	return wish
}

func (k *Case) watches(key, waits uint8) bool {
	switch {
	case k.Wishes == "":
		return k.Watch || key == tookOver
	case k.several(key):
		return waits>>key&1 == 1
	}
	return k.Wishes[key] != 'f'
}

func (k *Case) several(key uint8) bool { return k.Wishes != "" && k.Wishes[key] == 's' }

// tookOver is the entry of a caller that takes over what its client keeps: it is renewed, since it may do with less.
const tookOver = 1

func (k *Case) limits(key uint8) bool { return k.Wishes != "" && k.Wishes[key] == 'l' }

// enter asks for another entry.
func (w *World) enter(k *Case, c int) {
	w.Enters--
	key := uint8(k.Enters) - w.Enters
	w.step(k, c, attempt.Event{Kind: attempt.Enter, Key: key, Wish: k.wish(c, key, 0), Shared: w.Callers[c].Want.Shared}, 0)
}

// share updates that account after an event.
func (w *World) share(c int, ev *attempt.Event, out *attempt.Effects) {
	p := &w.Callers[c]
	if ev.Kind == attempt.Leave {
		p.Inside &^= 1 << ev.Key.(uint8)
	}
	asked := false
	for i := range p.Entries {
		if e := &p.Entries[i]; e.State == attempt.Asked {
			asked = true
		} else {
			p.Inside |= 1 << e.Key.(uint8)
		}
	}
	switch {
	case p.over() && p.Why == attempt.Released && out.Send != 0 && out.Round.Command == attempt.Release && p.Inside != 0:
		w.violate(freedUnder)
	case p.live() && p.Inside == 0 && !asked:
		w.violate(heldByNobody)
	}
	if !p.live() {
		p.Inside, p.Orphaned, p.Waits, p.Doubt = 0, 0, 0, false // they are told
	}
}

// checkCounts looks for masters that have answered everything and count fewer entries than were confirmed. There may be
// as many of these as there were faults.
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

// checkEntries looks at what the entries of a hold are promised.
func (w *World) checkEntries(k *Case, c int) {
	p := &w.Callers[c]
	if !p.live() || p.Short {
		return
	}
	lasts, wants := false, false
	asked := slices.ContainsFunc(p.Entries, func(e attempt.Entry) bool { return e.State == attempt.Asked })
	counting := slices.ContainsFunc(p.Rounds, func(r attempt.Round) bool { return r.Command == attempt.Count && !r.Settled })
	for key := range uint8(maxEntries) {
		if p.Inside&^p.Orphaned>>key&1 == 1 && k.watches(key, p.Waits) {
			left := ticks(k.Lease)
			if k.limits(key) {
				left = w.clock(c).Left(p.Entries[p.Find(key)].Limit)
			}
			wants = wants || left > 0
			lasts = lasts || left > attempt.RenewEvery(p.Wish.Lease)
		}
	}
	switch {
	case p.State == attempt.Held && asked && !counting:
		w.violate(unasked)
	case lasts && !p.Due && !p.Meant && !p.renewing():
		w.violate(unrenewed)
	case p.Due && !wants && !p.Asleep:
		w.violate(unwanted)
	case p.Doubt && p.Due && !p.Asleep && !p.Meant && !p.renewing() && w.clock(c).Left(p.RenewAt) > ticks(2):
		w.violate(undoubted)
	}
}
