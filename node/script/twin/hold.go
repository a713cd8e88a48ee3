package twin

// Enter sets the hold count of the lock that owner has, and extends it to lease, which is 0 of one that leaves. The count of
// a reader is kept nowhere.
func (l *Lock) Enter(now int64, mode Mode, owner Owner, count int32, lease int64) Reply {
	l.Expire(now)
	switch {
	case l.Alien:
		return Reply{Outcome: Failed}
	case mode == Shared && (l.Holder == owner || l.reads(owner)):
		l.join(now, owner, lease)
		return Reply{Outcome: Done}
	case l.Holder != owner:
		return refused(l.Holder, l.left(now))
	}
	l.Count = count
	if lease > 0 {
		l.extend(now, lease)
	}
	return Reply{Outcome: Done}
}

// Raise raises the fencing counter of the lock that owner has to token. It is refused, with the
// counter, where that is not below token, and without where owner does not have the lock. To a
// reader the larger counter is a yes.
func (l *Lock) Raise(now int64, mode Mode, owner Owner, token int64) Reply {
	l.Expire(now)
	switch {
	case l.Alien:
		return Reply{Outcome: Failed}
	case l.Holder != owner && (mode == Exclusive || !l.reads(owner)):
		return Reply{Outcome: Refused}
	case l.Counter > maxToken:
		return beginAnew(&l.Counter, token)
	case l.Counter >= token && mode == Shared:
		return Reply{Outcome: Done, Token: token}
	case l.Counter >= token:
		return Reply{Outcome: Refused, Token: l.Counter}
	}
	l.Counter = token
	return Reply{Outcome: Done, Token: token}
}

// Renew extends one hold of owner to lease, with its count and its fencing token. With heal it sets
// the lock again where nobody has it, but not after a Force. A lock that a reader has alone becomes
// a shared one, and with heal passes to the readers who wait.
func (l *Lock) Renew(now int64, hears Hears, mode Mode, owner Owner, count int32, lease, token int64, heal bool) Reply {
	l.Expire(now)
	r, shared, alone := Reply{Outcome: Done, Renewed: Extended}, mode == Shared, l.Holder == owner
	switch {
	case l.Alien:
		r.Renewed = NotLock
		return r
	case alone || shared && l.reads(owner):
	case l.Holder != 0 && !(shared && l.Holder == Readers):
		r.Renewed = Foreign
		return r
	case !heal || spans(l.Forced[:]).has(owner):
		r.Renewed = Absent
		return r
	default:
		r.Renewed = Healed
	}
	switch {
	case shared:
		l.join(now, owner, lease)
		if alone && heal {
			l.pass(now, hears, token, 0, 0, &r)
		}
	case alone:
		l.extend(now, lease)
	default:
		l.give(now, owner, count, lease)
	}
	if l.Counter > maxToken {
		l.Counter = token
	}
	l.Counter = max(l.Counter, token)
	return r
}

// Inspect tells who has the lock.
func (l *Lock) Inspect(now int64) Reply {
	l.Expire(now)
	if l.Alien || l.Counter > maxToken {
		return Reply{Outcome: Failed}
	}
	return Reply{Outcome: Done, Holder: l.Holder, Left: l.left(now), Count: l.Count, Token: l.Counter}
}
