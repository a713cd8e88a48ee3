package twin

import "slices"

// Line is who waits.
type Line struct {
	Queue        [MaxQueue]Entry // the first one first; the rest is zero
	QueueExpires int64           // 0 while nobody waits
}

// Entry is one that waits in the queue.
type Entry struct {
	Owner    Owner
	Round    uint32 // of the owner's last ask, from 1: a hand-off names it
	Since    int64  // when the owner began to wait, by any clock: its place in the queue
	Lease    int64  // in ms, for which the lock may be handed to it
	Proposal int64  // fencing token that it asked for, above 0
	Stale    int64  // until then the ask counts; set by the master

	Permits, Start uint8 // of a semaphore: how many there are, and which is tried first
}

// waiting reports whether anybody is in the queue.
func (l *Line) waiting() bool { return l.Queue[0].Owner != 0 }

// before reports whether e comes before f: by when they began to wait, and then as a sorted set of
// Redis has its members. There it is the text of the owners that counts, so the order is the same if
// that is the order of their numbers.
func (e *Entry) before(f *Entry) bool {
	return e.Since < f.Since || e.Since == f.Since && e.Owner < f.Owner
}

// enter puts e into the queue, or notes the next ask of its owner, and returns it as it stands there.
func (l *Line) enter(now int64, e Entry) Entry {
	l.leave(e.Owner)
	e.Stale = now + e.Lease
	i := 0
	for i < MaxQueue && l.Queue[i].Owner != 0 && l.Queue[i].before(&e) {
		i++
	}
	if l.Queue[MaxQueue-1].Owner != 0 {
		panic("twin: more than MaxQueue entries in a queue")
	}
	copy(l.Queue[i+1:], l.Queue[i:])
	l.Queue[i] = e
	l.QueueExpires = now + queueLasts
	return e
}

// rank returns how many stand before e, which is in the queue.
func (l *Line) rank(e Entry) int { return slices.Index(l.Queue[:], e) }

// leave takes owner out of the queue.
func (l *Line) leave(owner Owner) {
	i := slices.IndexFunc(l.Queue[:], func(e Entry) bool { return e.Owner == owner })
	if owner != 0 && i >= 0 {
		l.remove(i)
	}
}

// remove takes out the i-th entry.
func (l *Line) remove(i int) {
	copy(l.Queue[i:], l.Queue[i+1:])
	l.Queue[MaxQueue-1] = Entry{}
	if !l.waiting() {
		l.QueueExpires = 0
	}
}

// expire drops the queue if it has run out at now.
func (l *Line) expire(now int64) {
	if l.QueueExpires <= now && l.waiting() {
		*l = Line{}
	}
}

// pass hands the lock, which nobody has, to the first in the queue who hears of it and whose ask is
// not stale. The token is above the counter and above token, and the one proposed if that is so.
// Others leave the queue, as does me, with whom it ends: he reads the answer.
func (l *Lock) pass(now int64, hears Hears, token int64, me Owner) HandOff {
	for l.waiting() {
		e := l.Queue[0]
		l.remove(0)
		if e.Owner == me {
			break
		}
		if now < e.Stale && hears(e.Owner) {
			l.Counter = max(l.Counter+1, token+1, e.Proposal)
			l.give(now, e.Owner, 1, e.Lease)
			return HandOff{Owner: e.Owner, Round: e.Round, Token: l.Counter}
		}
	}
	return HandOff{}
}
