package twin

import "math"

// Owner is somebody who takes the lock, or another program that holds it. 0 is nobody.
type Owner uint32

// Redisson is who has a free lock in the turn of Redisson's clients, and on whose channel they hear
// that it is free.
const Redisson Owner = math.MaxUint32

// Readers is who has a lock that is shared.
const Readers Owner = math.MaxUint32 - 1

// Keeper is set in owners of clients that keep locks.
const Keeper Owner = 1 << 30

// keeps reports whether o's client keeps locks.
func (o Owner) keeps() bool { return o < Readers && o&Keeper != 0 }

// Mode is how an owner has a lock: alone, or together with other readers.
type Mode uint8

const (
	Exclusive Mode = iota
	Shared
)

// Never is the instant at which a lock without expiry ends, and the time that it has left.
const Never int64 = math.MaxInt64

const (
	// MaxQueue is how many entries a queue has room for. A method that would need more panics: the
	// caller has fewer owners than that.
	MaxQueue = 8
	// MaxForced is how many owners can be kept from healing at a time. More panic as well.
	MaxForced = 4
)

// Durations in ms, as in the scripts.
const (
	queueLasts = 10_000 // after the last entry was made
	turnLasts  = 20
)

// Lock is all that a master keeps of one lock. The zero Lock is free, and nobody waits.
//
// Expires, QueueExpires, Turn, Until and Stale are instants, 0 where there is none. Whoever counts
// them from another origin, after Expire, leaves 0 and Never alone; an entry may be stale already.
type Lock struct {
	Holder  Owner // 0: nobody; Readers: those in Reading
	Count   int32 // hold count of Holder
	Expires int64 // when the key does; Never, or 0 where there is no key

	// Alien: the key is a hash with fields of another program, so it is no lock. Holder is then
	// whoever has a field beside them.
	Alien bool

	// Reading is who reads, by owner; the rest is zero. Where the holder is not Readers, it is left
	// from an earlier time, since somebody deleted the key.
	Reading [MaxReaders]Span

	Counter int64 // fencing counter, 0 where there is none

	Line

	Turn int64 // until then Redisson's clients come first, unless it is too far away to be a turn

	// Forced are those from whom the lock was taken by force, and who must not heal it.
	Forced [MaxForced]Span
}

// Expire drops what has run out at now, so that locks that do the same are equal. Every method
// begins with it.
func (l *Lock) Expire(now int64) {
	if l.Expires <= now {
		l.free()
		l.Alien, l.Expires = false, 0
	}
	spans(l.Reading[:]).lapse(now)
	l.expire(now)
	if l.Turn <= now {
		l.Turn = 0
	}
	spans(l.Forced[:]).lapse(now)
}

// left is how long the key lasts, 0 if there is none.
func (l *Lock) left(now int64) int64 {
	if l.Expires == 0 || l.Expires == Never {
		return l.Expires
	}
	return l.Expires - now
}

// turn reports whether Redisson's clients come first.
func (l *Lock) turn(now int64) bool { return now < l.Turn && l.Turn <= now+turnLasts }

// give makes owner the holder of a lock that nobody has.
func (l *Lock) give(now int64, owner Owner, count int32, lease int64) {
	l.Holder, l.Count, l.Expires = owner, count, now+lease
}

// free takes the lock from its holder.
func (l *Lock) free() {
	l.Holder, l.Count = 0, 0
	if !l.Alien {
		l.Expires = 0
	}
}

// extend makes the key last for lease from now, if that is longer than what is left. One without
// expiry gets this: what it has left counts as -1 ms, as Redis tells it.
func (l *Lock) extend(now, lease int64) {
	if l.Expires == Never || l.Expires < now+lease {
		l.Expires = now + lease
	}
}
