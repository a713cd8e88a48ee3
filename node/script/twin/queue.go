package twin

// waiting reports whether anybody is in the queue.
func (l *Lock) waiting() bool { return l.Queue[0].Owner != 0 }

// before reports whether e comes before f: by when they began to wait, and then as a sorted set of
// Redis has its members, which begin with the owner and go on with the other numbers. There it is
// their text that counts. So the order is the same if that of the owners' texts is the order of
// their numbers, and as long as round, lease, proposal and stale have as many digits as those of the
// other entry: they matter only to an owner that is in the queue twice, see enter.
func (e *Entry) before(f *Entry) bool {
	switch {
	case e.Since != f.Since:
		return e.Since < f.Since
	case e.Owner != f.Owner:
		return e.Owner < f.Owner
	case e.Round != f.Round:
		return e.Round < f.Round
	case e.Lease != f.Lease:
		return e.Lease < f.Lease
	case e.Proposal != f.Proposal:
		return e.Proposal < f.Proposal
	}
	return e.Stale < f.Stale
}

// enter puts e into the queue, or notes its next ask. A first ask that comes again, or late, does
// not replace what is there: its owner is in the queue twice then.
func (l *Lock) enter(now int64, e Entry) {
	if e.Round != 1 {
		l.leave(e.Owner, e.Since)
	}
	e.Stale = now + e.Lease
	i := 0
	for i < MaxQueue && l.Queue[i].Owner != 0 && l.Queue[i].before(&e) {
		i++
	}
	if i == MaxQueue || l.Queue[i] != e {
		if l.Queue[MaxQueue-1].Owner != 0 {
			panic("twin: more than MaxQueue entries in a queue")
		}
		copy(l.Queue[i+1:], l.Queue[i:])
		l.Queue[i] = e
	}
	l.QueueExpires = now + queueLasts
}

// leave takes owner, who began to wait at since, out of the queue.
func (l *Lock) leave(owner Owner, since int64) {
	for i := 0; i < MaxQueue && l.Queue[i].Owner != 0; {
		if l.Queue[i].Owner == owner && l.Queue[i].Since == since {
			l.remove(i)
		} else {
			i++
		}
	}
}

// remove takes out the i-th entry of the queue.
func (l *Lock) remove(i int) {
	copy(l.Queue[i:], l.Queue[i+1:])
	l.Queue[MaxQueue-1] = Entry{}
	if !l.waiting() {
		l.QueueExpires = 0
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
			return HandOff{e.Owner, e.Round, l.Counter}
		}
	}
	return HandOff{}
}
