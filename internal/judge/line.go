package judge

import (
	"cmp"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// line is what callers stand in: that for a name, or for a semaphore.
type line struct {
	name  string
	waits []*turn         // plain waits: of one name, by a call that waits, in the order of the calls
	takes []*turn         // all calls that ask for the name, and perhaps for others
	holds []*history.Hold // in the order of the grants
}

// turn is a call that asks for a name.
type turn struct {
	call    *history.Call
	hold    *history.Hold // that it was granted; nil: none
	granted time.Duration // Never: it was not
	ends    time.Duration // it no longer asks: it was granted, its context had ended, it returned, or its process was gone
	opens   time.Duration // no majority of the masters can have given it the name before
}

// lines sorts the calls and holds of all names.
func (r *record) lines() []*line {
	type key struct {
		name   string
		permit bool
	}
	all := map[key]*line{}
	var order []*line
	at := func(name string, permit bool) *line {
		k := key{name, permit}
		if all[k] == nil {
			all[k] = &line{name: name}
			order = append(order, all[k])
		}
		return all[k]
	}
	for _, c := range r.Calls {
		if !c.Do.Takes() && c.Do != history.Enter {
			continue
		}
		for _, name := range c.Names {
			l := at(name, c.Do == history.Acquire || c.Do == history.TryAcquire)
			t := &turn{call: c, granted: history.Never, ends: min(c.Returned, r.ended(c.Who))}
			if c.Deadline > 0 {
				t.ends = min(t.ends, c.Deadline)
			}
			for _, h := range c.Holds {
				if h.Name == name {
					t.hold, t.granted, t.ends = h, h.At, min(t.ends, h.At)
				}
			}
			l.takes = append(l.takes, t)
			if c.Do.Waits() && c.Do != history.LockAll {
				l.waits = append(l.waits, t)
			}
		}
	}
	for _, h := range r.Holds {
		l := at(h.Name, h.Slot > 0)
		l.holds = append(l.holds, h)
	}
	for _, l := range order {
		for _, t := range l.waits {
			t.opens = l.opens(t)
		}
	}
	return order
}

// opens returns when a majority can have given the name to t, at the earliest: when t asked, and those had
// gone whom the name was granted to before, and who do not share it with t.
func (l *line) opens(t *turn) time.Duration {
	opens, reads := t.call.At, t.call.Do == history.RLock
	for _, h := range l.holds {
		if h.At >= t.granted {
			break
		}
		if h == t.hold || h.Lost != nil || h.Slot > 0 || reads && h.Shared {
			continue
		}
		ended := h.Until
		if h.Unlock != nil {
			ended = min(ended, h.Unlock.At)
		}
		if reads {
			ended = min(ended, h.Downgraded)
		}
		if ended < t.granted {
			opens = max(opens, ended)
		}
	}
	return opens
}

// gone returns when the masters can have given a hold to somebody else at the latest: it was given back, or
// ended by itself. A process that was killed keeps it for a lease, 1 % longer by the clocks.
func (r *record) gone(h *history.Hold) time.Duration {
	switch {
	case h.Unlock != nil:
		return min(h.Unlock.Returned, r.after(h.Who))
	case h.Lost != nil:
		return h.Lost.At
	case r.killed(h.Who):
		return r.after(h.Who)
	}
	return max(h.Until, r.ended(h.Who))
}

// after returns when nothing is left of what a process had, though it may have been killed.
func (r *record) after(who string) time.Duration {
	if !r.killed(who) {
		return r.ended(who)
	}
	return r.ended(who) + r.Run.MaxLease + r.Run.MaxLease/100
}

// lacking returns the stretches within which somebody asked for a name, by a plain wait and in a process that
// ran, and nobody had it. Those who ask for several names may have it without anybody knowing.
func (r *record) lacking(l *line) []history.Span {
	type change struct {
		at         time.Duration
		wait, have int
	}
	var changes []change
	add := func(from, to time.Duration, wait, have int) {
		if from < to {
			changes = append(changes, change{from, wait, have}, change{to, -wait, -have})
		}
	}
	for _, t := range l.waits {
		from := t.call.At
		for _, s := range r.absent[t.call.Who] {
			if s.To > from && s.From < t.ends {
				add(from, s.From, 1, 0)
				from = s.To
			}
		}
		add(from, t.ends, 1, 0)
	}
	for _, t := range l.takes {
		if t.call.Do == history.LockAll {
			add(t.call.At, t.ends, 0, 1)
		}
	}
	for _, h := range l.holds {
		add(h.At, r.gone(h), 0, 1)
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var spans []history.Span
	wait, have := 0, 0
	for _, c := range changes {
		before := wait > 0 && have == 0
		wait, have = wait+c.wait, have+c.have
		now := wait > 0 && have == 0
		switch {
		case now && !before:
			spans = append(spans, history.Span{From: c.at, To: history.Never})
		case before && !now:
			spans[len(spans)-1].To = c.at
		}
	}
	return slices.DeleteFunc(spans, func(s history.Span) bool { return s.From == s.To })
}
