package main

// First come, first served, is a rule of a whole run: who is let in says nothing of who came before. So each
// caller has a bit that tells whether its place counts by now, and each hold that begins is held against those
// bits. They are part of a state.

// ordered reports whether the callers of a case are served in the order in which they came. Who tries stands
// in no line. And faults make callers lose their places: the search shows that all are served then, not when.
func (k *Case) ordered() bool { return k.Pairs == 0 && k.Kinds&^giveUp == 0 && k.Deaf == 0 }

// line notes whose places count: of those who wait while somebody has the lock, the ones who have been
// entered into the queues of a majority; and the ones who stand in the line of a client, behind one whose
// place counts or who has the lock, since whatever that one sends may enter them. From then on nobody who
// came later may be let in before. While nobody has the lock, all compete for it; and whom a majority has let
// in already, before they could know of one who had come before, is about to have it.
func (w *World) line(k *Case) {
	held, letIn := false, false
	for c := range k.Callers {
		p := &w.Callers[c]
		held = held || p.live()
		letIn = letIn || p.contends() && 2*w.has(k, c) > k.config(c).Masters
	}
	for c := range k.Callers {
		p := &w.Callers[c]
		counts := held && !letIn
		if p.begun() {
			counts = counts && w.stands(k, c)
			p.Placed = p.contends() && (p.Placed || counts)
		} else if k.inLine(c) {
			before := &w.Callers[c-1]
			p.Placed = p.Placed || counts && (before.Placed || before.live())
		}
	}
}

// begun reports whether the caller has asked, or been entered.
func (c *Caller) begun() bool { return c.Last > 0 }

// stands reports whether a caller is in the queues of a majority of its masters.
func (w *World) stands(k *Case, c int) bool {
	n := 0
	for _, m := range k.masters(c) {
		for _, e := range w.Masters[m].Lock.Queue {
			n += int(b2(e.Owner == w.current(c)))
		}
	}
	return 2*n > k.config(c).Masters
}

// letIn holds it against those who came before that caller c has the lock. Readers are let in together.
func (w *World) letIn(k *Case, c int) {
	p := &w.Callers[c]
	for before := range k.Callers {
		b := &w.Callers[before]
		if b.Placed && b.Since < p.Since && !(k.reads(before) && k.reads(c)) {
			w.violate(overtaken)
		}
	}
	p.Placed = false
}

// order has two callers of one client and two of others, the last of whom has the lock when the others come.
func (t *table) order() {
	f := t.family("order/", "", Case{Masters: 3, Line: 2, Delay: 1, Lease: 12, Taken: true})
	for _, roles := range []string{"WWWW", "WWRW", "WRWW", "RWRW", "WRRW", "RRWW", "RWWR", "WWRR"} {
		f.add(roles, Case{Roles: roles})
		f.add(roles+", one gives up", Case{Roles: roles}.once(giveUp))
	}
	for _, roles := range []string{"WWRW", "WRWW", "RWRW", "WWRR"} {
		f.add(roles+", downgrade", Case{Roles: roles, Downgrade: true})
	}
	renewed := Case{Roles: "WWRW", Downgrade: true, Watch: true}
	f.add("WWRW, downgrade, renewed", renewed)
	f.add("WWRW, downgrade, renewed, further away", renewed.with(Case{Delay: 2, Lease: 24, Nightly: true}))
}
