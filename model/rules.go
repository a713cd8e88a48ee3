package main

import (
	"example.com/redlock/node/script/twin"
)

// What must never be.
const (
	twoHolders  = "safety: two callers have the lock"
	badToken    = "safety: a token is not above those of the holds before"
	revived     = "safety: a hold that had ended came back"
	overAlready = "safety: a hold began when its validity was over"
	noArrow     = "safety: a transition that is not in the table"
	residue     = "safety: something of an owner that has gone is left at a master that answered its release"
)

// check notes what is violated in a state.
func (w *World) check(k *Case) {
	holders := 0
	for c := range k.Callers {
		p := &w.Callers[c]
		if p.valid(w.Now) {
			holders++
		}
		// It may have stood in the queue of a master that had not granted it, but not of more.
		if p.Barred && 2*w.has(k, c) > k.Masters {
			w.violate(revived)
		}
	}
	if holders > 1 {
		w.violate(twoHolders)
	}
	for m := range k.Masters {
		for client := range k.Callers {
			w.checkResidue(k, m, client)
		}
	}
}

// has returns on how many masters a caller has the lock.
func (w *World) has(k *Case, c int) (n int) {
	for m := range k.Masters {
		if w.Masters[m].Lock.Holder == w.current(c) {
			n++
		}
	}
	return n
}

// checkResidue looks for what is left of owners of a client at a master that has answered all that
// the client sent. Only an owner who still wants the lock may have something there. What was carried
// out late, or came back with an older copy, is excused until it has gone.
func (w *World) checkResidue(k *Case, m, client int) {
	link := &w.Links[m][client]
	for _, ch := range []channel{up, down, post} {
		if i, j := w.Messages.each(m, client, ch); i < j {
			return
		}
	}
	any, found := false, false
	l := &w.Masters[m].Lock
	left := func(o twin.Owner) {
		if o == 0 || k.client(callerOf(o)) != client {
			return
		}
		any = true
		p := &w.Callers[callerOf(o)]
		if !p.Crashed && (o != w.current(callerOf(o)) || !p.contends() && !p.live()) {
			found = true
		}
	}
	left(l.Holder)
	for i := range l.Queue {
		left(l.Queue[i].Owner)
	}
	if found && !link.Dirty {
		w.violate(residue)
	}
	if !any {
		link.Dirty = false
	}
}

// goal reports whether all is well: nobody waits, and all masters are free.
func (w *World) goal(k *Case) bool {
	for c := range k.Callers {
		if w.Callers[c].contends() || w.Callers[c].live() {
			return false
		}
	}
	for m := range k.Masters {
		if l := &w.Masters[m].Lock; l.Holder != 0 || l.Queue[0].Owner != 0 {
			return false
		}
	}
	return true
}

// advance lets time go on by a tick.
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
	for m := range k.Masters {
		p := &w.Masters[m]
		expire(&p.Lock, w.Now)
		if p.Saved {
			expire(&p.Copy, w.Now)
		}
		for client := range k.Callers {
			w.silence(k, m, client)
		}
	}
}

// expire drops what has run out. An entry in the queue that is stale does nothing any more, and
// the queue itself lasts for as long as anybody is in it.
func expire(l *twin.Lock, now int64) {
	l.Expire(millis(now))
	n := 0
	for _, e := range l.Queue {
		if e.Owner != 0 && e.Stale > millis(now) {
			l.Queue[n] = e
			n++
		}
	}
	clear(l.Queue[n:])
	if l.QueueExpires = 0; n > 0 {
		l.QueueExpires = millis(now) + forever
	}
}

// forever is longer than what is looked at takes.
const forever = 10_000

// silence breaks a connection that has been frozen for long.
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
