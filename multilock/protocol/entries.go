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

// EntryState is where an [Entry] stands.
type EntryState uint8

const (
	// EntryHeld: it counts until it is given back.
	EntryHeld EntryState = iota
	// EntryLeaked: nobody can give it back any more. Work that it protects may still be going on, so it counts;
	// but it wants no more renewals.
	EntryLeaked
	// EntryLeft: it was given back after the hold had ended. Until then those that are given back are left out.
	EntryLeft
)

// Entry is one of the locks of an owner that share a hold.
type Entry[K comparable] struct {
	Key   K
	State EntryState
	Wish
}

// Entries are a [Hold], and the locks of its owner that share it. Each is given back once, and the hold with the
// last of them. Each says for itself whether it wants the hold renewed, and for how long: what one wants goes
// with it.
//
// A hold has one from the beginning. Another one is Asked, which counts at the masters, until they have confirmed
// it or have not. The list of a hold that has ended stays as it was, so that all can be told.
//
// Source: docs/how-it-works.md, "Re-entry".
type Entries[K comparable] struct {
	Hold
	List  []Entry[K]
	Asked int // that the masters are yet to confirm
}

// Step is the whole life of a hold and its entries. The events of an entry, which key names, become what they
// mean for the hold; all others are the hold's own.
func (e *Entries[K]) Step(conf *Config, now clock.Instant, key K, ev *HoldEvent, out *HoldEffects) {
	*out = HoldEffects{}
	switch ev.Kind {
	case HoldWon:
		e.List = append(e.List, Entry[K]{Key: key, Wish: ev.Wish})
		e.Hold.Step(conf, now, ev, out)
	case HoldEnter:
		e.Hold.Step(conf, now, &HoldEvent{Kind: HoldDue}, out)
		if e.Live() && (ev.Shared || !e.Shared) {
			e.Asked++
			out.Count = e.Count()
		}
	case HoldEntered:
		e.Asked--
		e.Hold.Step(conf, now, &HoldEvent{Kind: HoldExtended, Until: ev.Until}, out)
		if e.Live() {
			e.List = append(e.List, Entry[K]{Key: key, Wish: ev.Wish})
			e.Hold.Step(conf, now, &HoldEvent{Kind: HoldWatch, Wish: e.wish(none), Trip: ev.Trip}, out)
		}
	case HoldDenied:
		e.Asked--
		if ev.Lost {
			e.Hold.Step(conf, now, &HoldEvent{Kind: HoldLost, Writer: ev.Writer}, out)
		}
		if e.Live() {
			e.without(conf, now, none, ev, out)
		}
	case HoldLost:
		if e.Hold.Step(conf, now, ev, out); e.Live() {
			out.Count = e.Count() // it is a reader by now, and they were told of a writer
		}
	case HoldLeft:
		if i := e.index(key); i != none {
			e.leave(conf, now, i, ev, out)
		}
	default:
		e.Hold.Step(conf, now, ev, out)
	}
}

// leave gives the i-th entry back.
func (e *Entries[K]) leave(conf *Config, now clock.Instant, i int, ev *HoldEvent, out *HoldEffects) {
	e.without(conf, now, i, ev, out)
	if !e.Live() {
		e.List[i].State = EntryLeft
		return
	}
	last := len(e.List) - 1
	copy(e.List[i:], e.List[i+1:])
	e.List[last] = Entry[K]{} // so that it keeps nothing alive
	e.List = e.List[:last]
}

// without has the hold go on without the i-th entry, or end with the last one.
func (e *Entries[K]) without(conf *Config, now clock.Instant, i int, ev *HoldEvent, out *HoldEffects) {
	left := e.Count()
	if i != none {
		left--
	}
	next := HoldEvent{Kind: HoldWatch, Wish: e.wish(i), Trip: ev.Trip}
	if left == 0 {
		next.Kind = HoldEnd
	}
	e.Hold.Step(conf, now, &next, out)
	if e.Live() {
		out.Count = left
	}
}

// Count returns the hold count for the masters: it includes what they are yet to confirm.
func (e *Entries[K]) Count() int { return len(e.List) + e.Asked }

// Has reports whether there is an entry that was not given back.
func (e *Entries[K]) Has(key K) bool { return e.index(key) != none }

// none is the index of no entry.
const none = -1

func (e *Entries[K]) index(key K) int {
	for i := range e.List {
		if e.List[i].Key == key && e.List[i].State != EntryLeft {
			return i
		}
	}
	return none
}

// Leak notes that nobody can give an entry that Has reports back any more, and reports whether that is
// a mistake: a hold that nobody wants renewed may be left to end by itself. It needs no instant.
func (e *Entries[K]) Leak(key K) (mistake bool) {
	for i := range e.List {
		mistake = mistake || e.List[i].Watched
	}
	if mistake {
		e.List[e.index(key)].State = EntryLeaked
	}
	if e.Watched {
		e.Want(e.wish(none))
	}
	return mistake
}

// Leaked reports whether an entry leaked.
func (e *Entries[K]) Leaked() bool {
	for i := range e.List {
		if e.List[i].State == EntryLeaked {
			return true
		}
	}
	return false
}

// wish returns how the hold is to be renewed for all of them together, but for the i-th.
func (e *Entries[K]) wish(i int) (w Wish) {
	for j := range e.List {
		if j != i && e.List[j].State != EntryLeaked {
			w = w.with(e.List[j].Wish)
		}
	}
	return w
}
