package judge

// Unprotected is what happened to the registers that look at no tokens: what nobody promised to prevent,
// since a process may be stopped between a look at its hold and the write.
type Unprotected struct {
	Writes int
	Lost   int // updates that were overwritten by one that did not know of it
	Stale  int // of these, with a token smaller than one that was there before: a fenced register refuses it
}

// unprotected looks at each write in the order in which the register carried it out.
func (r *record) unprotected() Unprotected {
	var u Unprotected
	for _, writes := range r.plain {
		var value, largest int64
		for _, w := range writes {
			u.Writes++
			var token int64
			if h := r.byID[holdID{w.Who, w.Hold}]; h != nil {
				token = h.Token
			}
			if w.Base != value {
				u.Lost++
				if token < largest {
					u.Stale++
				}
			}
			value, largest = w.Value, max(largest, token)
		}
	}
	return u
}
