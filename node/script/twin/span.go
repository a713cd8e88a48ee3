package twin

import "slices"

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
