package judge

import (
	"time"

	"example.com/redlock/internal/history"
)

// line has the callers and the holds of a name, or of a semaphore.
type line struct {
	name  string
	waits []*turn         // plain waits, by calls that wait for this name alone, in the order of the calls
	takes []*turn         // all calls that ask for the name, and perhaps for others
	holds []*history.Hold // in the order of the grants
}

// turn is a call that asks for a name.
type turn struct {
	call    *history.Call
	hold    *history.Hold // that it was granted; nil: none
	granted time.Duration // Never: it was not
	ends    time.Duration // when it stopped asking: it was granted, its context ended, it returned, or its process ended
	opens   time.Duration // the earliest time at which a majority of the masters can have given it the name
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

// opens returns the earliest time at which a majority can have given the name to t: t had asked, and all holds that were
// granted before, and do not share the name with t, had ended.
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

// gone returns the latest time at which the masters can give a hold's name to somebody else: it was given back, or ended
// by itself. The hold of a process that was killed lasts for a lease, and 1 % longer for the clocks.
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

// after returns when nothing is left of what a process had, even if it was killed.
func (r *record) after(who string) time.Duration {
	if !r.killed(who) {
		return r.ended(who)
	}
	return r.ended(who) + r.Run.MaxLease + r.Run.MaxLease/100
}

// lacking returns the stretches in which somebody waited for a name, by a plain wait in a process that ran, and nobody had
// it. A call that asks for several names counts as having it, since it may have it already.
func (r *record) lacking(l *line) []history.Span {
	var waits, haves []history.Span
	for _, t := range l.waits {
		waits = append(waits, without([]history.Span{{From: t.call.At, To: t.ends}}, r.absent[t.call.Who])...)
	}
	for _, t := range l.takes {
		if t.call.Do == history.LockAll {
			haves = append(haves, history.Span{From: t.call.At, To: max(t.call.At, t.ends)})
		}
	}
	for _, h := range l.holds {
		haves = append(haves, history.Span{From: h.At, To: max(h.At, r.gone(h))})
	}
	return without(union(waits), union(haves))
}
