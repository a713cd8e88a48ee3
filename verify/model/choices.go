package main

import (
	"fmt"
)

// What must never be of the entries of a hold.
const (
	freedUnder   = "entries: a hold was given back under an entry that was not"
	heldByNobody = "entries: a hold goes on that nobody has an entry of"
	miscounted   = "entries: a master that answered all counts fewer than there are"
	unasked      = "entries: an entry is asked for, and no round is under way that asks"
	unrenewed    = "entries: an entry wants renewals, and there are none any more"
	unwanted     = "entries: a renewal is due that no entry wants"
)

// share makes what those who share a hold may want: to enter it again, and to leave it.
func (x *mover) share(it *item, c int) {
	k, p := x.k, &it.Callers[c]
	for key := range uint8(maxEntries) {
		bit := uint8(1) << key
		if p.Inside&^p.Orphaned&bit == 0 {
			continue
		}
		x.free(it, func(w *World) { w.leave(k, c, key) })
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

// counts reports whether a command sets the hold count.
func (x *Message) counts() bool { return x.Kind == count }

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

// kept has locks that stay with their clients.
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
