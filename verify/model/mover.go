package main

import (
	"fmt"
	"slices"

	"example.com/redlock/multilock/attempt"
)

// mover makes the states that may follow a state, one tick later. First something may go wrong. Then each master
// carries out what has arrived, in every order of its clients. Then one caller after the other receives what has arrived
// for it, in the order of the masters, and does what is due.
type mover struct {
	k     *Case
	now   []*item // the states that this tick may have led to so far
	then  []*item
	spare []*item
	seen  *store
	code  *coder
}

// item is a state within a tick.
type item struct {
	World
	toll bool // it took a fault, or something late, to get there: the way does not count for liveness
}

func newMover(k *Case) *mover {
	code := newCoder(k)
	code.fixed = true // within a tick, some callers have had their turn and others have not
	return &mover{k: k, seen: newStore(), code: code}
}

// stage calls f for each state. f changes the state, makes a fork for each thing that may happen instead, and reports
// whether to go on with the state itself.
func (x *mover) stage(f func(*item) (goOn bool)) {
	x.then = x.then[:0]
	before := len(x.now)
	for _, it := range x.now {
		if f(it) {
			x.then = append(x.then, it)
		} else {
			x.spare = append(x.spare, it)
		}
	}
	x.now, x.then = x.then, x.now
	if len(x.now) > max(before, 4) {
		x.merge()
	}
}

// merge leaves out states to which several orders led.
func (x *mover) merge() {
	x.seen.clear()
	x.now = slices.DeleteFunc(x.now, func(it *item) bool {
		key := append(x.code.write(&it.World), b2(it.toll), b2(it.wrong != ""))
		_, fresh := x.seen.put(key, hash(key), none)
		if !fresh {
			x.spare = append(x.spare, it)
		}
		return !fresh
	})
}

// copy returns a copy of a state.
func (x *mover) copy(w *World, toll bool) *item {
	if len(x.spare) == 0 {
		x.spare = append(x.spare, new(item))
	}
	to := x.spare[len(x.spare)-1]
	x.spare = x.spare[:len(x.spare)-1]
	w.copyTo(&to.World, x.k)
	to.toll = toll
	return to
}

// fork adds a copy of a state, in which something else may happen.
func (x *mover) fork(it *item) *item {
	to := x.copy(&it.World, it.toll)
	x.then = append(x.then, to)
	return to
}

// free adds what a state becomes if something happens that is no fault.
func (x *mover) free(it *item, do func(*World)) { do(&x.fork(it).World) }

// maybe adds what a state becomes if something happens that nobody may rely on: the end of what went wrong before, or
// what a caller need not want.
func (x *mover) maybe(it *item, do func(*World)) {
	n := x.fork(it)
	n.toll = true
	do(&n.World)
}

// fault adds what a state becomes if something goes wrong, provided that the case has that kind of fault and that it can
// happen now.
func (x *mover) fault(it *item, kind fault, can bool, do func(*World)) {
	if can && x.k.Kinds&kind != 0 && it.Faults > 0 {
		x.maybe(it, func(w *World) {
			w.Faults--
			do(w)
		})
	}
}

// draw does a step of caller c with each lot, if the lot matters: it decides how long a contender pauses.
func (x *mover) draw(it *item, c int, do func(w *World, lot uint32) (drawn bool)) (goOn bool) {
	switch it.Callers[c].State {
	case attempt.Asking, attempt.Waiting, attempt.Settling:
		if !do(&x.fork(it).World, lots[0]) {
			return false
		}
		do(&it.World, lots[1])
	default:
		if do(&it.World, lots[0]) {
			panic("model: chance has a say where nobody asks it")
		}
	}
	return true
}

// moves returns what may follow w, a tick later.
func (x *mover) moves(w *World) []*item {
	x.spare = append(x.spare, x.now...)
	x.now = append(x.now[:0], x.copy(w, false))
	x.stage(x.faults)
	for m := range x.k.Masters {
		if x.k.Drift {
			x.stage(func(it *item) bool { return x.early(it, m) })
		}
		x.stage(func(it *item) bool { return x.master(it, m) })
	}
	for c := range x.k.Callers {
		x.caller(c)
	}
	for _, it := range x.now {
		it.check(x.k)
		it.advance(x.k)
	}
	return x.now
}

// master makes a master carry out what has arrived, in every order of the clients.
func (x *mover) master(it *item, m int) (goOn bool) {
	var room [maxCallers]int
	clients := room[:0]
	for client := range x.k.Callers {
		if _, ok := it.due(m, client, up); ok {
			clients = append(clients, client)
		}
	}
	if len(clients) < 2 {
		it.serve(x.k, m, clients)
		return true
	}
	each(clients, func(order []int) { x.fork(it).serve(x.k, m, order) })
	return false
}

// serve carries out what has arrived at a master, client after client.
func (w *World) serve(k *Case, m int, clients []int) {
	for _, client := range clients {
		for i, ok := w.due(m, client, up); ok; i, ok = w.due(m, client, up) {
			w.carryOut(k, w.Messages.remove(i), true)
		}
	}
}

// early ends leases early, where clocks differ.
func (x *mover) early(it *item, m int) (goOn bool) {
	for o, until := range it.Masters[m].leases() {
		if *until > millis(it.Now+2) {
			continue
		}
		x.maybe(it, func(w *World) {
			p := &w.Masters[m]
			for other, until := range p.leases() {
				if other == o {
					*until = millis(w.Now)
				}
			}
			p.last()
			p.Lock.Expire(millis(w.Now))
			w.noteText("m%d ends a lease EARLY", p.Name)
		})
	}
	return true
}

// caller makes a caller do what there is to do. It chooses before it receives anything, so it keeps what it gets for at
// least a tick: work takes time.
func (x *mover) caller(c int) {
	k := x.k
	x.stage(func(it *item) bool { return x.choices(it, c) })
	for m := range k.Masters {
		for _, ch := range []channel{down, post} {
			for slices.ContainsFunc(x.now, func(it *item) bool { return it.arrives(m, c, ch) }) {
				x.stage(func(it *item) bool { return x.deliver(it, m, c, ch) })
			}
		}
	}
	x.stage(func(it *item) bool {
		switch {
		case it.Callers[c].Asleep:
		case it.wakes(c):
			return x.draw(it, c, func(w *World, lot uint32) bool {
				return w.step(k, c, attempt.Event{Kind: attempt.Due}, lot)
			})
		default:
			p := &it.Callers[c]
			p.Meant = p.Meant || p.live() && p.Due && it.clock(c).Left(p.RenewAt) <= 0
		}
		return true
	})
	x.stage(func(it *item) bool {
		if p := &it.Callers[c]; p.Meant && !p.Asleep {
			x.fault(it, slow, true, func(w *World) { w.noteText("the renewal of C%d is SLOW", c) }) // other things may happen before
			it.renew(k, c)
		}
		return true
	})
}

// wakes reports whether a timer of the attempt has expired.
func (w *World) wakes(c int) bool {
	p := &w.Callers[c]
	at, ok := p.Wake()
	return ok && w.clock(c).Left(at) <= 0
}

// arrives reports whether a message has arrived for a client that is awake.
func (w *World) arrives(m, c int, ch channel) bool {
	_, ok := w.due(m, c, ch)
	return ok && !w.Callers[c].Asleep
}

// deliver passes the first message that has arrived to the client of caller c.
func (x *mover) deliver(it *item, m, c int, ch channel) (goOn bool) {
	if !it.arrives(m, c, ch) {
		return true
	}
	i, _ := it.due(m, c, ch)
	msg := it.Messages.remove(i)
	if it.Callers[c].Crashed {
		return true
	}
	return x.draw(it, callerOf(msg.about()), func(w *World, lot uint32) bool { return w.receive(x.k, &msg, lot) })
}

// choices makes what a caller may want: to begin, and to give the lock back, at any time.
func (x *mover) choices(it *item, c int) (goOn bool) {
	k, p := x.k, &it.Callers[c]
	switch {
	case p.Asleep || p.Crashed:
	case it.refused(k, c):
	case p.Last == 0 && !k.inLine(c):
		x.maybe(it, func(w *World) { w.start(k, c) })
	case k.half(c) && p.live() && !p.Joined, k.second(c):
	case p.live():
		if k.Downgrade && !p.Want.Shared {
			x.maybe(it, func(w *World) { w.step(k, c, attempt.Event{Kind: attempt.Downgrade}, 0) })
		}
		if k.Extends && !p.Meant && !p.renewing() {
			x.maybe(it, func(w *World) { w.Callers[c].Meant = true })
		}
		x.share(it, c)
	case p.kept():
		x.free(it, func(w *World) {
			w.step(k, c, attempt.Event{Kind: attempt.Enter, Key: uint8(tookOver), Wish: k.wish(c, tookOver, 0)}, 0)
		})
	case it.Comes > 0 && p.over():
		x.maybe(it, func(w *World) {
			w.Comes--
			w.Callers[c].Since = w.behindAll(k)
			w.start(k, c)
		})
	}
	return true
}

// each calls f with every order of s.
func each(s []int, f func([]int)) {
	var permute func(i int)
	permute = func(i int) {
		if i >= len(s)-1 {
			f(s)
			return
		}
		for j := i; j < len(s); j++ {
			s[i], s[j] = s[j], s[i]
			permute(i + 1)
			s[i], s[j] = s[j], s[i]
		}
	}
	permute(0)
}

// Violations of the rules for entries.
const (
	freedUnder   = "entries: a hold was given back under an entry that was not"
	heldByNobody = "entries: a hold goes on that nobody has an entry of"
	miscounted   = "entries: a master that answered all counts fewer than there are"
	unasked      = "entries: an entry is asked for, and no round is under way that asks"
	unrenewed    = "entries: an entry wants renewals, and there are none any more"
	unwanted     = "entries: a renewal is due that no entry wants"
)

// share makes what the owner of a hold may want: to enter it again, to leave it, or to change its wish.
func (x *mover) share(it *item, c int) {
	k, p := x.k, &it.Callers[c]
	for key := range uint8(maxEntries) {
		bit := uint8(1) << key
		if p.Inside&^p.Orphaned&bit == 0 {
			continue
		}
		x.free(it, func(w *World) { w.leave(k, c, key) })
		if k.several(key) {
			x.maybe(it, func(w *World) {
				q := &w.Callers[c]
				q.Waits ^= bit
				w.step(k, c, attempt.Event{Kind: attempt.Rewish, Key: key, Wish: k.wish(c, key, q.Waits)}, 0)
			})
		}
		if k.Leaks {
			x.maybe(it, func(w *World) {
				q := &w.Callers[c]
				q.Orphaned |= bit
				q.Leak(key)
				w.noteText("an entry of C%d LEAKS", c)
			})
		}
	}
	if it.Enters > 0 && p.Inside != 0 {
		x.maybe(it, func(w *World) { w.enter(k, c) })
	}
}

// entered has owners enter their holds again.
func (t *table) entered() {
	f := t.family("entered/", "", Case{Masters: 3, Callers: 1, Delay: 1, Lease: 12, Limit: 10, Enters: 1})
	for _, wishes := range []string{"ff", "fw", "wf", "wl", "sf"} {
		any, daily := Case{Wishes: wishes, Leaks: true}, ^freezeLink
		if wishes == "ff" {
			daily = always
		}
		f.add(wishes, any)
		f.faults(wishes+", ", any, daily)
	}
	f.add("twice", Case{Enters: 2, Wishes: "wff"})
	two := Case{Callers: 2, Wishes: "wf", Starts: true}
	f.add("two", two)
	f.add("two, crash", two.once(crash))
	f.add("two, restart", two.once(restart).with(Case{Nightly: true}))
	down := Case{Wishes: "wf", Downgrade: true}
	f.add("downgrade", down)
	f.add("downgrade, late", down.once(late))
	f.add("downgrade beside a reader", down.with(Case{Roles: "WR"}))
}

// kept has clients that keep locks after they were given back.
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
