package judge

import (
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
