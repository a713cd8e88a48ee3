package twin

import "slices"

// Line is the queue of a lock.
type Line struct {
	Queue        [MaxQueue]Entry // the first one first; the rest is zero
	QueueExpires int64           // 0 while nobody waits
}

// Entry is one that waits in the queue.
type Entry struct {
	Owner    Owner
	Mode     Mode
	Round    uint32 // of the owner's last ask, from 1: a hand-off names it
	Since    int64  // when the owner began to wait, by any clock: its place in the queue
	Lease    int64  // in ms, for which the lock may be handed to it
	Proposal int64  // fencing token that it asked for, above 0
	Stale    int64  // until then the ask counts; set by the master

	Polls bool // its client hears of nothing, and asks
}

// waiting reports whether anybody is in the queue.
func (l *Line) waiting() bool { return l.Queue[0].Owner != 0 }

// hears reports whether the lock may be handed to e.
func (e *Entry) hears(hears Hears) bool { return e.Polls || hears(e.Owner) }

// before reports whether e comes before f: by when they began to wait, and then as a sorted set of
// Redis has its members. There it is the text of the owners that counts, so the order is the same if
// that is the order of their numbers.
func (e *Entry) before(f *Entry) bool {
	return e.Since < f.Since || e.Since == f.Since && e.Owner&^Keeper < f.Owner&^Keeper
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

// pass hands the lock, which nobody has but readers, to the first in the queue who hears of it and
// whose ask is not stale, and to all readers behind a reader. Others leave the queue. The token of a
// writer is above the counter and above token, and the one proposed if that is so; that of a reader
// is the larger of the two.
//
// me hears of it in any case, since he reads the answer, to which the hand-offs are added. A reader
// is let in for lease. With a writer, for whom lease is 0, it ends when he leaves the queue. pass
// returns who has the lock then, me if he may take it or was let in.
func (l *Lock) pass(now int64, hears Hears, token int64, me Owner, lease int64, r *Reply) Owner {
	joined := false
	for l.waiting() {
		e := l.Queue[0]
		if l.Holder == Readers && e.Mode == Exclusive && now < e.Stale {
			break
		}
		l.remove(0)
		switch {
		case e.Owner == me && lease == 0 && l.Holder == Readers:
			return Readers
		case e.Owner == me && lease == 0:
			return me
		case e.Owner == me:
			joined = true
			l.join(now, me, lease)
		case now >= e.Stale || !e.hears(hears):
		case e.Mode == Exclusive:
			l.Counter = max(above(l.Counter, token)+1, e.Proposal)
			l.give(now, e.Owner, 1, e.Lease)
			r.handOff(hears, HandOff{Owner: e.Owner, Mode: e.Mode, Round: e.Round, Token: l.Counter})
			return e.Owner
		default:
			if l.Counter = above(l.Counter, token); l.Counter == 0 {
				l.Counter = e.Proposal
			}
			l.join(now, e.Owner, e.Lease)
			r.handOff(hears, HandOff{Owner: e.Owner, Mode: e.Mode, Round: e.Round, Token: l.Counter})
		}
	}
	if joined {
		return me
	}
	return l.Holder
}
