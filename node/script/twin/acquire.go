package twin

// Acquire takes the lock for owner, once. proposal is the fencing token asked for, above 0.
func (l *Lock) Acquire(now int64, hears Hears, owner Owner, lease, proposal int64) Reply {
	return l.acquire(now, hears, lease, Entry{Owner: owner, Proposal: proposal})
}

// AcquireOrRegister is Acquire for a waiter: it enters the queue where another owner has the lock.
func (l *Lock) AcquireOrRegister(now int64, hears Hears, lease int64, e Entry) Reply {
	return l.acquire(now, hears, lease, e)
}

// Register enters the queue and leaves the lock alone, also where it is free.
func (l *Lock) Register(now int64, e Entry) Reply { return l.acquire(now, nil, 0, e) }

// acquire is acquire.lua. An e of round 0 does not wait.
func (l *Lock) acquire(now int64, hears Hears, lease int64, e Entry) Reply {
	l.Expire(now)
	switch {
	case l.Alien:
		return Reply{Outcome: Failed}
	case l.Holder == e.Owner:
		if l.Counter == 0 {
			l.Counter = e.Proposal
		}
		l.Count = 1
		if lease > 0 {
			l.extend(now, lease)
		}
		return Reply{Outcome: Done, Token: l.Counter}
	case l.Holder != 0:
		l.wait(now, e)
		return refused(l.Holder, l.left(now))
	case lease == 0:
		l.wait(now, e)
		return refused(0, 0)
	case l.waiting():
		// Nobody overtakes those who wait: a lease that ran out goes to the first of them.
		l.wait(now, e)
		if l.Turn > 0 {
			return refused(Redisson, l.Turn-now)
		}
		if to := l.pass(now, hears, 0, e.Owner); to.Owner != 0 {
			r := refused(to.Owner, l.left(now))
			r.HandOff = to
			return r
		}
	}
	l.Counter = max(l.Counter+1, e.Proposal)
	l.give(now, e.Owner, 1, lease)
	return Reply{Outcome: Done, Token: l.Counter}
}

// wait enters e into the queue if it is one that waits.
func (l *Lock) wait(now int64, e Entry) {
	if e.Round != 0 {
		l.enter(now, e)
	}
}
