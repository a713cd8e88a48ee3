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
