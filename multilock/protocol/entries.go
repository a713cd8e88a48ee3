package protocol

import (
	"time"

	"example.com/redlock/clock"
)

// Wish is how a hold is to be renewed.
type Wish struct {
	Watched bool          // until it is given back
	Lease   time.Duration // that a renewal is for
	Limited bool          // by Limit
	Limit   clock.Instant // no renewal is due then or later
}

// with returns the wish of both: a hold is renewed as long as either wants it.
func (w Wish) with(other Wish) Wish {
	switch {
	case !other.Watched:
		return w
	case !w.Watched:
		return other
	}
	w.Lease = max(w.Lease, other.Lease)
	w.Limited = w.Limited && other.Limited
	if other.Limit.Sub(w.Limit) > 0 {
		w.Limit = other.Limit
	}
	return w
}

// Entries are the locks of one owner that share a hold. Each is given back once, and the hold with the
// last of them. Each says for itself whether it wants the hold renewed, and for how long: what one
// wants goes with it. The zero Entries are none.
//
// Source: docs/algorithm.md, "Re-entry".
type Entries[K comparable] struct {
	list  []entry[K]
	first [1]entry[K] // few holds have more, which saves an allocation
	asked int         // that the masters are yet to confirm
	ended bool        // with the hold: the list stays as it is, so that all can be told
}

type entry[K comparable] struct {
	key K
	Wish
	leaked bool // nobody can give it back any more
	back   bool // it was given back after the end
}

// Ask counts an entry that the masters are about to confirm. Add or Drop must follow.
func (e *Entries[K]) Ask() { e.asked++ }

// Drop forgets an entry that the masters did not confirm.
func (e *Entries[K]) Drop() { e.asked-- }

// Add makes one that was asked for an entry.
func (e *Entries[K]) Add(key K, wish Wish) {
	e.asked--
	if e.list == nil {
		e.list = e.first[:0]
	}
	e.list = append(e.list, entry[K]{key: key, Wish: wish})
}

// Count returns the hold count for the masters: it includes what they are yet to confirm.
func (e *Entries[K]) Count() int { return len(e.list) + e.asked }

// Len returns how many entries there are.
func (e *Entries[K]) Len() int { return len(e.list) }

// Key returns the i-th entry.
func (e *Entries[K]) Key(i int) K { return e.list[i].key }

// Has reports whether there is an entry that was not given back.
func (e *Entries[K]) Has(key K) bool { return e.index(key) >= 0 }

func (e *Entries[K]) index(key K) int {
	for i := range e.list {
		if e.list[i].key == key && !e.list[i].back {
			return i
		}
	}
	return -1
}

// Leave gives an entry back, unless that was done before.
func (e *Entries[K]) Leave(key K) {
	i := e.index(key)
	switch {
	case i < 0:
	case e.ended:
		e.list[i].back = true
	default:
		last := len(e.list) - 1
		copy(e.list[i:], e.list[i+1:])
		e.list[last] = entry[K]{} // so that it keeps nothing alive
		e.list = e.list[:last]
	}
}

// Leak notes that nobody can give an entry that Has reports back any more, and reports whether that is
// a mistake: a hold that nobody wants renewed may be left to end by itself. Work that the entry protects
// may still be going on, so it counts; but it wants no more renewals.
func (e *Entries[K]) Leak(key K) (mistake bool) {
	for i := range e.list {
		mistake = mistake || e.list[i].Watched
	}
	e.list[e.index(key)].leaked = mistake
	return mistake
}

// End keeps the list as it is from now on: the hold has ended.
func (e *Entries[K]) End() { e.ended = true }

// Wish returns how the hold is to be renewed for all of them together. It needs no instant.
func (e *Entries[K]) Wish() (w Wish) {
	for i := range e.list {
		if !e.list[i].leaked {
			w = w.with(e.list[i].Wish)
		}
	}
	return w
}

// Leaked reports whether an entry leaked.
func (e *Entries[K]) Leaked() bool {
	for i := range e.list {
		if e.list[i].leaked {
			return true
		}
	}
	return false
}
