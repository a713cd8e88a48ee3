package twin

import "slices"

// NoToken is the token of a release that passes the lock to nobody, as a guarded or unsteady master
// must not.
const NoToken int64 = -1

// Force takes the lock from whoever has it, and keeps those owners from healing it for as long as
// their leases would have lasted. Then it passes on.
func (l *Lock) Force(now int64, hears Hears, token int64) Reply {
	l.Expire(now)
	if l.Alien {
		return Reply{Outcome: Failed}
	}
	mine, holder := l.Holder != 0, l.Holder
	if l.Holder == Readers {
		for _, r := range l.Reading {
			if r.Owner != 0 {
				spans(l.Forced[:]).of(r.Owner).Until = r.Until
				l.leave(r.Owner)
			}
		}
		l.Reading = [MaxReaders]Span{}
	} else if mine {
		if l.Expires != Never {
			spans(l.Forced[:]).of(l.Holder).Until = l.Expires
		}
		l.leave(l.Holder)
	}
	l.free()
	r := l.handOn(now, hears, token, mine)
	if holder.keeps() {
		r.Wanted = holder
	}
	return r
}

// Release takes owner out of the queue and frees the lock, which then passes to the first in the queue. token is the fencing
// token of owner, or the one it proposed. next enters the queue before; one of owner 0 is none.
func (l *Lock) Release(now int64, hears Hears, mode Mode, owner Owner, token int64, next Entry) Reply {
	l.Expire(now)
	mine := owner != 0 && l.Holder == owner && !(l.Alien && mode == Shared)
	switch {
	case mine:
		l.free()
	case l.Alien:
	case mode == Shared && l.reads(owner):
		mine = true
		_ = slices.DeleteFunc(l.Reading[:], func(r Span) bool { return r.Owner == owner })
		l.settle()
	}
	l.leave(owner) // also who has the lock: a renewal may have healed it
	if l.Alien && !mine {
		return Reply{Outcome: Failed}
	}
	if next.Owner != 0 && !l.Alien && l.Holder != next.Owner && !l.reads(next.Owner) {
		l.enter(now, next)
	}
	return l.handOn(now, hears, token, mine)
}

// handOn passes on a lock that nobody has but readers, after a release that freed it, or some of it,
// if mine.
func (l *Lock) handOn(now int64, hears Hears, token int64, mine bool) Reply {
	r := Reply{Outcome: Refused}
	if mine {
		r.Outcome = Done
	}
	switch {
	case l.Alien, l.Holder != 0 && l.Holder != Readers, l.Holder == 0 && !mine && l.turn(now):
		return r
	case token == NoToken:
	case l.Holder == 0 && mine && token%7 == 0 && l.waiting() && hears(Redisson):
		l.Turn, r.Told = now+turnLasts, true
		r.handOff(hears, HandOff{Owner: l.Queue[0].Owner})
		return r
	default:
		l.pass(now, hears, token, 0, 0, &r)
	}
	r.Told = mine && l.Holder == 0 && hears(Redisson)
	return r
}
