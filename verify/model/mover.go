package main

import (
	"slices"

	"example.com/redlock/multilock/attempt"
)

// mover makes the states that may follow a state, a tick later. First something may go wrong. Then
// the masters carry out what has come, in every order of their clients. Then one caller after the
// other takes what has come to it, in the order of the masters, and does what it is time for.
type mover struct {
	k     *Case
	now   []*item // what the moment may have come to so far
	then  []*item
	spare []*item
	seen  map[string]bool
	code  *coder
}

// item is a state within a moment.
type item struct {
	World
	toll bool // a fault was needed, or something late: the way does not count for liveness
}

func newMover(k *Case) *mover {
	return &mover{k: k, seen: map[string]bool{}, code: newCoder(k)}
}

// stage has f do with each state what comes next. f makes a fork for what else may happen, and
// says whether to go on with the state itself.
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

// merge leaves out states that are there already, though other orders led to them.
func (x *mover) merge() {
	clear(x.seen)
	x.now = slices.DeleteFunc(x.now, func(it *item) bool {
		key := string(append(x.code.write(&it.World), b2(it.toll), b2(it.wrong != "")))
		known := x.seen[key]
		if x.seen[key] = true; known {
			x.spare = append(x.spare, it)
		}
		return known
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

// fork adds a copy of a state, for something else to happen.
func (x *mover) fork(it *item) *item {
	to := x.copy(&it.World, it.toll)
	x.then = append(x.then, to)
	return to
}

// free adds what becomes of a state by something that needs no fault.
func (x *mover) free(it *item, do func(*World)) { do(&x.fork(it).World) }

// maybe adds what becomes of a state by something that may not be relied on: the end of what went wrong
// before, or what a caller need not want.
func (x *mover) maybe(it *item, do func(*World)) {
	n := x.fork(it)
	n.toll = true
	do(&n.World)
}

// fault adds what becomes of a state when something goes wrong, if the case has that kind, and it can happen now.
func (x *mover) fault(it *item, kind fault, can bool, do func(*World)) {
	if can && x.k.Kinds&kind != 0 && it.Faults > 0 {
		x.maybe(it, func(w *World) {
			w.Faults--
			do(w)
		})
	}
}

// draw does a step in which chance may have a say.
func (x *mover) draw(it *item, do func(w *World, lot uint32) (drawn bool)) (goOn bool) {
	if !do(&x.fork(it).World, lots[0]) {
		return false
	}
	do(&it.World, lots[1])
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

// master has a master carry out what has come, in every order of the clients it came from.
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

// serve carries out what has come to a master from clients, in their order.
func (w *World) serve(k *Case, m int, clients []int) {
	for _, client := range clients {
		for i, ok := w.due(m, client, up); ok; i, ok = w.due(m, client, up) {
			w.carryOut(k, w.Messages.remove(i), true)
		}
	}
}

// early ends leases early, where clocks differ.
func (x *mover) early(it *item, m int) (goOn bool) {
	i := 0
	for _, until := range it.Masters[m].leases() {
		if *until <= millis(it.Now+2) {
			x.maybe(it, func(w *World) {
				p := &w.Masters[m]
				*p.lease(i) = millis(w.Now)
				p.last()
				p.Lock.Expire(millis(w.Now))
				w.noteText("m%d ends a lease EARLY", p.Name)
			})
		}
		i++
	}
	return true
}

// caller has a caller do what there is to do. It chooses before it hears of anything, so it has what it wins for a tick
// at least: work takes time.
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
			return x.draw(it, func(w *World, lot uint32) bool {
				return w.step(k, c, attempt.Event{Kind: attempt.Due}, lot)
			})
		default:
			it.timers(k, c)
		}
		return true
	})
	x.slowly(c, "renewal", func(p *Caller) bool { return p.Meant }, func(w *World) { w.renew(k, c) })
}

// slowly has a client do what it is about to do for caller c: now, or a tick later, when other things may have
// happened.
func (x *mover) slowly(c int, what string, about func(*Caller) bool, do func(*World)) {
	x.stage(func(it *item) bool {
		if p := &it.Callers[c]; about(p) && !p.Asleep {
			x.fault(it, slow, true, func(w *World) { w.noteText("the %s of C%d is SLOW", what, c) })
			do(&it.World)
		}
		return true
	})
}

// wakes reports whether it is time for a contender to look.
func (w *World) wakes(c int) bool {
	p := &w.Callers[c]
	at, ok := p.Wake()
	return ok && w.clock(c).Left(at) <= 0
}

// arrives reports whether there is a message for a client that is awake.
func (w *World) arrives(m, c int, ch channel) bool {
	_, ok := w.due(m, c, ch)
	return ok && !w.Callers[c].Asleep
}

// deliver hands the client of caller c the first message that has come.
func (x *mover) deliver(it *item, m, c int, ch channel) (goOn bool) {
	if !it.arrives(m, c, ch) {
		return true
	}
	i, _ := it.due(m, c, ch)
	msg := it.Messages.remove(i)
	if it.Callers[c].Crashed {
		return true
	}
	return x.draw(it, func(w *World, lot uint32) bool { return w.receive(x.k, &msg, lot) })
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
			w.step(k, c, attempt.Event{Kind: attempt.Enter, Key: uint8(tookOver), Wish: k.wish(c, tookOver)}, 0)
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
