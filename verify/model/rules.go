package main

// Violations.
const (
	twoHolders  = "safety: two callers have the lock"
	overtaken   = "order: a caller was let in before one that had come before it, and was in the line"
	besideOne   = "safety: a writer has the lock, and not alone"
	badToken    = "safety: a token is not above those of the holds before"
	revived     = "safety: a hold that had ended came back"
	overAlready = "safety: a hold began when its validity was over"
	tooSlow     = "progress: it takes too many ticks until all are served"
	unserved    = "progress: a caller that waits for the lock ended, though it did not give up"
	noArrow     = "safety: a transition that is not in the table"
	ignored     = "order: a lock is kept that somebody waits for, and nobody is about to say so"
	residue     = "safety: something of an owner that has gone is left at a master that answered its release"
)

// check notes what is violated in a state.
func (w *World) check(k *Case) {
	holders, readers := 0, 0
	for c := range k.Callers {
		w.checkEntries(k, c)
		if k.Enters > 0 {
			w.checkCounts(k, c)
		}
	}
	for c := range k.Callers {
		p := &w.Callers[c]
		if w.holds(k, c) {
			holders++
			readers += int(b2(p.Want.Shared))
		}
		// It may have stood in the queue of a master that had not granted it, but not of more.
		if p.Barred && 2*w.has(k, c) > k.config(c).Masters {
			w.violate(revived)
		}
	}
	switch {
	case holders <= 1 || readers == holders:
	case readers > 0:
		w.violate(besideOne)
	default:
		w.violate(twoHolders)
	}
	if k.ordered() {
		w.line(k)
		w.checkKept(k)
	}
	for m := range k.Masters {
		for client := range k.Callers {
			w.checkResidue(k, m, client)
		}
	}
}

// checkKept looks for a lock that is kept though others stand in the queue: its client has not heard of them,
// and nothing is under way that says so.
func (w *World) checkKept(k *Case) {
	for m := range k.Masters {
		l := &w.Masters[m].Lock
		if k.keeping(l.Holder) && w.Callers[callerOf(l.Holder)].kept() && l.Queue[0].Owner != 0 && w.Messages.len() == 0 {
			w.violate(ignored)
		}
	}
}

// has returns on how many masters a caller has the lock.
func (w *World) has(k *Case, c int) (n int) {
	for m := range k.Masters {
		if w.Masters[m].has(w.current(c)) {
			n++
		}
	}
	return n
}

// tops are the largest tokens of all holds so far, and of writers. Readers share theirs.
type tops struct{ holds, writers int64 }

// judge notes the token of a hold that begins. That of a writer is above those of all holds before, that
// of a reader no smaller than those of the writers before.
func (t *tops) judge(p *Caller) (ok bool) {
	if p.Want.Shared {
		ok = p.Token >= t.writers
	} else {
		ok = p.Token > t.holds
		t.writers = max(t.writers, p.Token)
	}
	t.holds = max(t.holds, p.Token)
	return ok
}

// checkResidue looks for what owners of a client have left at a master that has answered everything the client sent.
// Only an owner that still wants the lock, or has it, may have something there. What was carried out late, or came back
// with an older copy, is excused until it has gone.
func (w *World) checkResidue(k *Case, m, client int) {
	link := &w.Links[m][client]
	i, _ := w.Messages.each(m, client, up)
	if _, j := w.Messages.each(m, client, post); i < j {
		return
	}
	any, found := false, false
	p := &w.Masters[m]
	for o := range p.owners() {
		if c := callerOf(o); k.client(c) == client {
			caller := &w.Callers[c]
			any = true
			found = found || !caller.Crashed && (o != w.current(c) || !caller.contends() && !caller.live() && !caller.kept())
		}
	}
	if found && !link.Dirty {
		w.violate(residue)
	}
	if !any {
		link.Dirty = false
	}
}

// goal reports whether all callers are served and all masters are free.
func (w *World) goal(k *Case) bool {
	for c := range k.Callers {
		if w.Callers[c].contends() || w.Callers[c].live() {
			return false
		}
	}
	for m := range k.Masters {
		if !w.Masters[m].free() {
			return false
		}
	}
	return true
}

// advance lets a tick pass.
func (w *World) advance(k *Case) {
	w.Now++
	if k.Clocks {
		w.Clock++
	}
	for i := range w.Messages.len() {
		if x := &w.Messages.list[i]; x.Due > 0 {
			x.Due--
		}
	}
	for c := range k.Callers {
		w.tickClock(k, c)
	}
	w.part(k)
	for m := range k.Masters {
		p := &w.Masters[m]
		p.expire(w.Now)
		if p.Saved {
			p.Copy.expire(w.Now)
		}
		for client := range k.Callers {
			w.silence(k, m, client)
		}
	}
}

// part gives callers that have just gone a place behind those that had gone before.
func (w *World) part(k *Case) {
	last := uint8(0)
	for c := range k.Callers {
		last = max(last, w.Callers[c].Gone)
	}
	for c := range k.Callers {
		switch p := &w.Callers[c]; {
		case !p.gone():
			p.Gone = 0
		case p.Gone == 0:
			last++
			p.Gone = last
		}
	}
}

// silence breaks a connection that has been frozen for too long.
func (w *World) silence(k *Case, m, client int) {
	link := &w.Links[m][client]
	if !link.Frozen || link.Down {
		return
	}
	if link.Quiet--; link.Quiet == 0 {
		w.breakLink(m, client, !k.Kills)
		link.Down = true
		w.noteText("the link of C%d to m%d is taken for broken", client, w.Masters[m].Name)
	}
}

// First come, first served, is a rule about a whole run, and a state does not say who came before whom. So each caller
// has a bit that says whether its place counts by now, and each hold that begins is checked against those bits. They are
// part of a state.

// ordered reports whether the callers of a case must be served in the order in which they came. Faults make callers lose
// their places: then the search shows that all are served, and not in which order.
func (k *Case) ordered() bool { return k.Pairs == 0 && k.Kinds&^giveUp == 0 && k.Deaf == 0 }

// line notes whose places count. While somebody has the lock, these are the waiters that are in the queues of a
// majority; and those in the line of a client behind one whose place counts, or that has the lock, since whatever that
// one sends may enter them into the queue. From then on, no caller that came later may be let in before them. While
// nobody has the lock, all compete for it. And a caller that a majority has let in is about to have the lock, even if an
// earlier one is entered only now: so meanwhile no place begins to count.
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

// begun reports whether the caller has asked, or was entered into the queue.
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

// letIn checks that caller c does not get the lock before one that came earlier and whose place counts. Readers are let
// in together.
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

// order has two callers of one client and two with clients of their own, the last of which has the lock when the others
// come.
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
