package main

import (
	"iter"
	"slices"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script/twin"
)

// kept is what a master has of the name: a lock, or in some cases a semaphore.
type kept struct {
	Lock  twin.Lock
	Slots twin.Slots
}

func (p *kept) copyTo(to *kept, k *Case) {
	if k.Permits > 0 {
		to.Slots = p.Slots
	} else {
		to.Lock = p.Lock
	}
}

// line is who waits there.
func (p *kept) line(k *Case) *twin.Line {
	if k.Permits > 0 {
		return &p.Slots.Line
	}
	return &p.Lock.Line
}

// filled returns the front of a list of which the rest is zero.
func filled[T comparable](list []T) []T {
	if n := slices.Index(list, *new(T)); n >= 0 {
		return list[:n]
	}
	return list
}

// marks are those who must not heal there.
func (p *kept) marks(k *Case) *twin.Marks {
	if k.Permits > 0 {
		return &p.Slots.Marks
	}
	return &p.Lock.Marks
}

// maxHolders is how many owners have something at a master.
const maxHolders = max(twin.MaxReaders, twin.MaxSlots)

// leases are those who have the lock, or a slot, and until when.
func (p *kept) leases(k *Case) iter.Seq2[twin.Owner, *int64] {
	return func(yield func(twin.Owner, *int64) bool) {
		for slot := range k.Permits {
			if at := &p.Slots.Slots[slot]; at.Owner != 0 && !yield(at.Owner, &at.Expires) {
				return
			}
		}
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
func (p *kept) owners(k *Case) iter.Seq[twin.Owner] {
	return func(yield func(twin.Owner) bool) {
		for o := range p.leases(k) {
			if !yield(o) {
				return
			}
		}
		for _, e := range filled(p.line(k).Queue[:]) {
			if !yield(e.Owner) {
				return
			}
		}
	}
}

// has reports whether an owner has the lock, or a slot: that one.
func (p *kept) has(k *Case, o twin.Owner, slot uint8) bool {
	if k.Permits > 0 {
		return p.Slots.Slots[slot].Owner == o
	}
	for holder := range p.leases(k) {
		if holder == o {
			return true
		}
	}
	return false
}

// free reports whether nobody has anything, and nobody waits.
func (p *kept) free(k *Case) bool { return p.lease(k, 0) == nil && p.line(k).Queue[0].Owner == 0 }

// expire drops what has run out. An entry in the queue that is stale does nothing any more, and
// the queue itself lasts for as long as anybody is in it.
func (p *kept) expire(k *Case, now int64) {
	p.drop(k, now)
	l, n := p.line(k), 0
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

// drop drops what has run out, and no more.
func (p *kept) drop(k *Case, now int64) {
	if k.Permits > 0 {
		p.Slots.Expire(millis(now))
	} else {
		p.Lock.Expire(millis(now))
	}
}

// forever is longer than what is looked at takes.
const forever = 10_000

// lease returns when the i-th lease there ends, nil if there are not so many.
func (p *kept) lease(k *Case, i int) *int64 {
	for _, until := range p.leases(k) {
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

// alike makes all fencing counters the same, where they do not matter.
func (p *kept) alike(k *Case) {
	p.Lock.Counter = 1
	for slot := range k.Permits {
		p.Slots.Slots[slot].Counter = 1
	}
}

// Who has a lock, as masters name it: one owner, or those who have the slots of a semaphore. Each takes
// 16 bits of the number.
const (
	ownerBits  = 16
	numberBits = 13
)

// readers is the number of all readers together, which no owner has.
const readers protocol.Holder = 1<<ownerBits - 1

// party returns the number of owners.
func party(owners ...twin.Owner) (h protocol.Holder) {
	for _, o := range owners {
		if o == 0 {
			continue
		}
		if o == twin.Readers {
			return readers
		}
		if numberOf(o) >= 1<<numberBits {
			panic("model: too many owners")
		}
		h = h<<ownerBits | protocol.Holder(callerOf(o)+1)<<numberBits | protocol.Holder(numberOf(o))
	}
	return h
}

// last returns the last owner of a party, and the others.
func last(h protocol.Holder) (o twin.Owner, others protocol.Holder) {
	v := h & (1<<ownerBits - 1)
	switch v {
	case protocol.Nobody:
		return 0, 0
	case readers:
		return twin.Readers, 0
	}
	return owner(int(v>>numberBits)-1, uint32(v&(1<<numberBits-1))), h >> ownerBits
}
