package twin

import "slices"

// Acquire takes the lock for the owner of e, which enters the queue where another one has it. An e of round 0 does not
// wait. With lease 0 it only enters the queue, also where the lock is free.
func (l *Lock) Acquire(now int64, hears Hears, lease int64, e Entry) Reply {
	l.Expire(now)
	shared, r := e.Mode == Shared, Reply{Outcome: Done}
	inside := l.Holder == e.Owner || shared && l.reads(e.Owner)
	joined := false
	switch {
	case l.Alien:
		return Reply{Outcome: Failed}
	case (inside || shared) && l.Counter > maxToken:
		return beginAnew(&l.Counter, e.Proposal)
	case inside:
	case lease > 0 && !l.waiting() && (l.Holder == 0 || shared && l.Holder == Readers):
	default:
		w, mine := Entry{}, int64(0)
		if e.Round > 0 {
			w = l.enter(now, e)
		}
		switch {
		case l.Holder != 0 && (l.Holder != Readers || !shared):
			return l.refusal(l.Holder, l.left(now), w)
		case lease == 0:
			return l.refusal(0, l.left(now), w)
		case l.Holder == 0 && l.turn(now):
			return l.refusal(Redisson, l.Turn-now, w)
		case shared:
			mine = lease
		}
		// Nobody overtakes those who wait: a lease that ran out goes to the first of them.
		holder := l.pass(now, hears, 0, e.Owner, mine, &r)
		joined = holder == e.Owner
		if others := holder == Readers && shared; holder != 0 && !joined && (!others || w.Owner != 0 || l.waiting()) {
			if others && w.Owner != 0 {
				holder = 0 // it goes on asking, and so lets in whoever is next
			}
			no := l.refusal(holder, l.left(now), w)
			no.HandOffs = r.HandOffs
			return no
		}
	}
	if inside || shared {
		if l.Counter == 0 {
			l.Counter = e.Proposal
		}
		switch {
		case !shared:
			l.Count = 1
			if lease > 0 {
				l.extend(now, lease)
			}
		case lease > 0 && !joined:
			l.join(now, e.Owner, lease)
		}
		r.Token = l.Counter
		return r
	}
	more := int64(0)
	if e.Owner.keeps() {
		more = reach
	}
	switch {
	case l.Counter == 0:
		l.Counter = e.Proposal
	case l.Counter >= maxToken-more:
		return beginAnew(&l.Counter, e.Proposal)
	default:
		l.Counter = max(l.Counter+more+1, e.Proposal)
	}
	l.give(now, e.Owner, 1, lease)
	return Reply{Outcome: Done, Token: l.Counter}
}

// refusal is the answer to the owner of w, which stands in the queue if it is not zero.
func (l *Lock) refusal(holder Owner, left int64, w Entry) Reply {
	r := refused(holder, left)
	if holder.keeps() {
		r.Wanted = holder
	}
	if w.Owner != 0 {
		r.Rank = slices.Index(l.Queue[:], w)
	}
	return r
}
