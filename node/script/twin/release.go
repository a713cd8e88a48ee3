package twin

// NoToken is the token of a release that passes the lock to nobody, as a guarded or unsteady master
// must not.
const NoToken int64 = -1

// Release takes owner out of the queue and frees the lock, which then passes to the first in the
// queue. token is the fencing token of owner, or the one it proposed.
func (l *Lock) Release(now int64, hears Hears, owner Owner, token int64) Reply {
	return l.release(now, hears, owner, token, Entry{})
}

// Yield is Release, but leaves the lock free.
func (l *Lock) Yield(now int64, hears Hears, owner Owner) Reply {
	return l.release(now, hears, owner, NoToken, Entry{})
}

// ReleaseTo is Release, and enters next into the queue before.
func (l *Lock) ReleaseTo(now int64, hears Hears, owner Owner, token int64, next Entry) Reply {
	return l.release(now, hears, owner, token, next)
}

// YieldTo is Yield, and enters next into the queue before.
func (l *Lock) YieldTo(now int64, hears Hears, owner Owner, next Entry) Reply {
	return l.release(now, hears, owner, NoToken, next)
}

// Force is Release by whoever has the lock, and keeps that owner from healing it for as long as its
// lease would have lasted.
func (l *Lock) Force(now int64, hears Hears, token int64) Reply {
	l.Expire(now)
	if l.Alien {
		return Reply{Outcome: Failed}
	}
	owner := l.Holder
	if owner != 0 && l.Expires != Never {
		l.force(owner, l.Expires)
	}
	return l.release(now, hears, owner, token, Entry{})
}

// release is release.lua, without what is particular about a Force. A next of owner 0 is none.
func (l *Lock) release(now int64, hears Hears, owner Owner, token int64, next Entry) Reply {
	l.Expire(now)
	holder, mine := l.Holder, owner != 0 && l.Holder == owner
	r := Reply{Outcome: Refused}
	if mine {
		l.free()
		r.Outcome = Done
	}
	if next.Owner == 0 && !l.waiting() {
		r.Told = mine && hears(Redisson)
		return r
	}
	if next.Owner != 0 && l.Alien {
		l.leave(owner)
		if !mine {
			r.Outcome = Failed
		}
		return r
	}
	if next.Owner != 0 && holder != next.Owner {
		l.enter(now, next)
	}
	l.leave(owner) // also who has the lock: a renewal may have healed it
	switch {
	case l.Alien, l.Holder != 0, !mine && l.Turn > 0:
		return r
	case token == NoToken:
		r.Told = mine && hears(Redisson)
		return r
	case mine && token%7 == 0 && l.waiting() && hears(Redisson):
		l.Turn, r.Told = now+turnLasts, true
		if first := l.Queue[0].Owner; hears(first) {
			r.handOff(HandOff{Owner: first})
		}
		return r
	}
	if to := l.pass(now, hears, token, 0); to.Owner != 0 {
		r.handOff(to)
	} else {
		r.Told = mine && hears(Redisson)
	}
	return r
}
