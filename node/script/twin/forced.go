package twin

import "slices"

// Mark says that the lock was taken from Owner by force, who must not heal it before Until.
type Mark struct {
	Owner Owner
	Until int64
}

// Marks are those from whom a lock was taken by force.
type Marks struct {
	Forced [MaxForced]Mark // by owner; the rest is zero
}

// lapse drops the marks that have run out at now.
func (m *Marks) lapse(now int64) {
	_ = slices.DeleteFunc(m.Forced[:], func(mark Mark) bool { return mark.Until <= now })
}

// force marks owner as one that must not heal it before until.
func (m *Marks) force(owner Owner, until int64) {
	i := 0
	for i < MaxForced && m.Forced[i].Owner != 0 && m.Forced[i].Owner < owner {
		i++
	}
	if i == MaxForced || m.Forced[i].Owner != owner {
		if m.Forced[MaxForced-1].Owner != 0 {
			panic("twin: more than MaxForced owners were forced out")
		}
		copy(m.Forced[i+1:], m.Forced[i:])
	}
	m.Forced[i] = Mark{owner, until}
}

// forced reports whether owner must not heal it.
func (m *Marks) forced(owner Owner) bool {
	return slices.ContainsFunc(m.Forced[:], func(mark Mark) bool { return mark.Owner == owner })
}
