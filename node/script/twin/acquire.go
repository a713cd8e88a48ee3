package twin

// Acquire takes the lock for owner, once. proposal is the fencing token asked for, above 0.
func (l *Lock) Acquire(now int64, hears Hears, mode Mode, owner Owner, lease, proposal int64) Reply {
	return l.AcquireOrRegister(now, hears, lease, Entry{Owner: owner, Mode: mode, Proposal: proposal})
}

// Register enters the queue and leaves the lock alone, also where it is free.
func (l *Lock) Register(now int64, e Entry) Reply { return l.AcquireOrRegister(now, nil, 0, e) }

// AcquireOrRegister is acquire.lua: Acquire for a waiter, which enters the queue where another owner has the
// lock. An e of round 0 does not wait.
func (l *Lock) AcquireOrRegister(now int64, hears Hears, lease int64, e Entry) Reply {
	l.Expire(now)
	switch {
	case l.Alien:
		return Reply{Outcome: Failed}
	case e.Mode == Shared:
		return l.share(now, hears, lease, e)
	case l.Holder == e.Owner:
		if l.Counter > maxToken {
			return beginAnew(&l.Counter, e.Proposal)
		}
		if l.Counter == 0 {
			l.Counter = e.Proposal
		}
		l.Count = 1
		if lease > 0 {
			l.extend(now, lease)
		}
		return Reply{Outcome: Done, Token: l.Counter}
	case l.Holder != 0:
		w := l.wait(now, e)
		return l.refusal(l.Holder, l.left(now), w)
	case lease == 0:
		w := l.wait(now, e)
		return l.refusal(0, 0, w)
	case l.waiting():
		// Nobody overtakes those who wait: a lease that ran out goes to the first of them.
		w := l.wait(now, e)
		if l.Turn > 0 {
			return l.refusal(Redisson, l.Turn-now, w)
		}
		var r Reply
		if to := l.pass(now, hears, 0, e.Owner, 0, &r); to != 0 && to != e.Owner {
			no := l.refusal(to, l.left(now), w)
			no.HandOffs = r.HandOffs
			return no
		}
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

// wait enters e into the queue if it is one that waits, and returns it as it stands there; else
// the zero Entry.
func (l *Lock) wait(now int64, e Entry) Entry {
	if e.Round == 0 {
		return Entry{}
	}
	return l.enter(now, e)
}

// refusal is the answer to the owner of w, which stands in the queue if it is not zero.
func (l *Lock) refusal(holder Owner, left int64, w Entry) Reply {
	r := refused(holder, left)
	if holder.keeps() {
		r.Wanted = holder
	}
	if w.Owner != 0 {
		r.Rank = l.rank(w)
	}
	return r
}
