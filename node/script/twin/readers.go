package twin

import "slices"

// MaxReaders is how many readers can have a lock at a time. More panic.
const MaxReaders = 4

// Reader is one that has the lock together with others.
type Reader struct {
	Owner Owner
	Until int64 // when its lease ends
}

// reads reports whether owner is one of the readers who have the lock.
func (l *Lock) reads(owner Owner) bool {
	return l.Holder == Readers && slices.ContainsFunc(l.Reading[:], func(r Reader) bool { return r.Owner == owner })
}

// join makes owner a reader, for lease or longer if it has it longer. Nobody has the lock but
// readers, or owner itself.
func (l *Lock) join(now int64, owner Owner, lease int64) {
	until := now + lease
	if l.Holder != Readers {
		if l.Holder == owner && l.Expires != Never {
			until = max(until, l.Expires)
		}
		l.Holder, l.Count, l.Reading = Readers, 0, [MaxReaders]Reader{}
	}
	i := 0
	for i < MaxReaders && l.Reading[i].Owner != 0 && l.Reading[i].Owner < owner {
		i++
	}
	if i == MaxReaders || l.Reading[i].Owner != owner {
		if l.Reading[MaxReaders-1].Owner != 0 {
			panic("twin: more than MaxReaders readers of a lock")
		}
		copy(l.Reading[i+1:], l.Reading[i:])
		l.Reading[i] = Reader{Owner: owner}
	}
	l.Reading[i].Until = max(l.Reading[i].Until, until)
	l.settle()
}

// settle has a lock that is shared end with the last of its readers.
func (l *Lock) settle() {
	l.Expires = 0
	for _, r := range l.Reading {
		l.Expires = max(l.Expires, r.Until)
	}
	if l.Expires == 0 {
		l.free()
	}
}

// share is share.lua: what acquire is to a writer.
func (l *Lock) share(now int64, hears Hears, lease int64, e Entry) Reply {
	if l.Counter > maxToken {
		return beginAnew(&l.Counter, e.Proposal)
	}
	r := Reply{Outcome: Done}
	inside := l.Holder == e.Owner || l.reads(e.Owner)
	open := !l.waiting() && (l.Holder == 0 || l.Holder == Readers)
	joined := false
	if !inside && (lease == 0 || !open) {
		w := l.wait(now, e)
		switch {
		case l.Holder != 0 && l.Holder != Readers:
			return l.refusal(l.Holder, l.left(now), w)
		case lease == 0:
			return l.refusal(0, l.left(now), w)
		case l.Holder == 0 && l.Turn > 0:
			return l.refusal(Redisson, l.Turn-now, w)
		}
		switch holder := l.pass(now, hears, 0, e.Owner, lease, &r); {
		case holder == e.Owner:
			joined = true
		case holder != 0 && holder != Readers || w.Owner != 0 || l.waiting():
			if holder == Readers && w.Owner != 0 {
				holder = 0 // it goes on asking, and so lets in whoever is next
			}
			no := l.refusal(holder, l.left(now), w)
			no.HandOffs = r.HandOffs
			return no
		}
	}
	if l.Counter == 0 {
		l.Counter = e.Proposal
	}
	if lease > 0 && !joined {
		l.join(now, e.Owner, lease)
	}
	r.Token = l.Counter
	return r
}

// keep is keep.lua: what Renew is to a writer.
func (l *Lock) keep(now int64, hears Hears, owner Owner, lease, token int64, heal bool) Reply {
	r := Reply{Outcome: Done, Renewed: Extended}
	alone := l.Holder == owner
	if !alone && !l.reads(owner) {
		switch {
		case l.Holder != 0 && l.Holder != Readers:
			r.Renewed = Foreign
			return r
		case !heal || l.forced(owner):
			r.Renewed = Absent
			return r
		}
		r.Renewed = Healed
	}
	l.join(now, owner, lease)
	if alone && heal {
		l.pass(now, hears, token, 0, 0, &r)
	}
	l.Counter = recounted(l.Counter, token)
	return r
}
