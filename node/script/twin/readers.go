package twin

import "slices"

// MaxReaders is how many readers can have a lock at a time. More panic.
const MaxReaders = 4

// reads reports whether owner is one of the readers who have the lock.
func (l *Lock) reads(owner Owner) bool {
	return l.Holder == Readers && spans(l.Reading[:]).has(owner)
}

// join makes owner a reader, for lease or longer if it has it longer. Nobody has the lock but
// readers, or owner itself.
func (l *Lock) join(now int64, owner Owner, lease int64) {
	until := now + lease
	if l.Holder != Readers {
		if l.Holder == owner && l.Expires != Never {
			until = max(until, l.Expires)
		}
		l.Holder, l.Count, l.Reading = Readers, 0, [MaxReaders]Span{}
	}
	r := spans(l.Reading[:]).of(owner)
	r.Until = max(r.Until, until)
	l.settle()
}

// settle makes a lock that is shared end with the last of its readers.
func (l *Lock) settle() {
	l.Expires = 0
	for _, r := range l.Reading {
		l.Expires = max(l.Expires, r.Until)
	}
	if l.Expires == 0 {
		l.free()
	}
}

// Span says until when something is so of an owner: that it reads, or must not heal the lock.
type Span struct {
	Owner Owner
	Until int64
}

// spans are in the order of their owners; the rest is zero.
type spans []Span

// has reports whether there is one of owner.
func (s spans) has(owner Owner) bool {
	return slices.ContainsFunc(s, func(of Span) bool { return of.Owner == owner })
}

// of returns the one of owner, which is new if there was none.
func (s spans) of(owner Owner) *Span {
	i := 0
	for i < len(s) && s[i].Owner != 0 && s[i].Owner < owner {
		i++
	}
	if i == len(s) || s[i].Owner != owner {
		if s[len(s)-1].Owner != 0 {
			panic("twin: more than MaxReaders readers of a lock, or more than MaxForced owners who were forced out")
		}
		copy(s[i+1:], s[i:])
		s[i] = Span{Owner: owner}
	}
	return &s[i]
}

// lapse drops those that have run out at now.
func (s spans) lapse(now int64) {
	_ = slices.DeleteFunc(s, func(of Span) bool { return of.Until <= now })
}
