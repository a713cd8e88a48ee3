package twin

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
