package main

import (
	"iter"
	"slices"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// kept is what a master has of the lock.
type kept struct{ Lock twin.Lock }

// filled returns the front of a list of which the rest is zero.
func filled[T comparable](list []T) []T {
	if n := slices.Index(list, *new(T)); n >= 0 {
		return list[:n]
	}
	return list
}

// leases are those who have the lock, and until when.
func (p *kept) leases() iter.Seq2[twin.Owner, *int64] {
	return func(yield func(twin.Owner, *int64) bool) {
		switch l := &p.Lock; l.Holder {
		case 0:
		case twin.Readers:
			for i := range filled(l.Reading[:]) {
				if r := &l.Reading[i]; !yield(r.Owner, &r.Until) {
					return
				}
			}
		default:
			yield(l.Holder, &l.Expires)
		}
	}
}

// owners are those who have something there, and those who wait.
func (p *kept) owners() iter.Seq[twin.Owner] {
	return func(yield func(twin.Owner) bool) {
		for o := range p.leases() {
			if !yield(o) {
				return
			}
		}
		for _, e := range filled(p.Lock.Queue[:]) {
			if !yield(e.Owner) {
				return
			}
		}
	}
}

// has reports whether an owner has the lock.
func (p *kept) has(o twin.Owner) bool {
	for holder := range p.leases() {
		if holder == o {
			return true
		}
	}
	return false
}

// free reports whether nobody has anything, and nobody waits.
func (p *kept) free() bool { return p.lease(0) == nil && p.Lock.Queue[0].Owner == 0 }

// expire drops what has run out. An entry in the queue that is stale does nothing any more, and
// the queue itself lasts for as long as anybody is in it.
func (p *kept) expire(now int64) {
	p.Lock.Expire(millis(now))
	l, n := &p.Lock, 0
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

// lease returns when the i-th lease there ends, nil if there are not so many.
func (p *kept) lease(i int) *int64 {
	for _, until := range p.leases() {
		if i == 0 {
			return until
		}
		i--
	}
	return nil
}

// last has a lock that is shared end with the last of its readers.
func (p *kept) last() {
	if l := &p.Lock; l.Holder == twin.Readers {
		l.Expires = 0
		for _, r := range l.Reading {
			l.Expires = max(l.Expires, r.Until)
		}
	}
}

// An owner, as masters name it, takes 16 bits of a number.
const (
	ownerBits  = 16
	numberBits = 13
)

// readers is the number of all readers together, which no owner has.
const readers attempt.Holder = 1<<ownerBits - 1

// named returns the number of an owner.
func named(o twin.Owner) attempt.Holder {
	switch {
	case o == 0:
		return attempt.Nobody
	case o == twin.Readers:
		return readers
	case numberOf(o) >= 1<<numberBits:
		panic("model: too many owners")
	}
	return attempt.Holder(callerOf(o)+1)<<numberBits | attempt.Holder(numberOf(o))
}

// whose returns the owner that a number names.
func whose(h attempt.Holder) twin.Owner {
	switch v := h & (1<<ownerBits - 1); v {
	case attempt.Nobody:
		return 0
	case readers:
		return twin.Readers
	default:
		return owner(int(v>>numberBits)-1, uint32(v&(1<<numberBits-1)))
	}
}
