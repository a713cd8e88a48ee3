package judge

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// record is a history, with indexes that several checks use.
type record struct {
	*history.View
	troubles []trouble                  // in the order in which they began
	absent   map[string][]history.Span  // when each process did not run, by its name
	audits   map[string]history.Event   // the last of each client and master
	keys     []string                   // that were held, sorted
	spoke    map[string]time.Duration   // when each process told something last
	byKey    map[string][]*history.Hold // in the order of their grants
	last     history.Event
}

// trouble is a fault, or a stretch in which a process did not run. The beginning of the run counts as a fault, since all
// masters have just started. So does a stall of a master, on a machine that is too busy, if it is as long as a client
// waits for an answer.
type trouble struct {
	history.Span
	*history.Trouble
	who string // the process that did not run; "" if it is a fault
}

func newRecord(h *history.History) (*record, error) {
	view, err := h.View()
	if err != nil {
		return nil, err
	}
	r := &record{
		View:   view,
		audits: map[string]history.Event{},
		spoke:  map[string]time.Duration{},
		byKey:  map[string][]*history.Hold{},
	}
	for _, hold := range view.Holds {
		r.byKey[hold.Key()] = append(r.byKey[hold.Key()], hold)
	}
	r.keys = slices.Sorted(maps.Keys(r.byKey))
	for _, e := range h.Events {
		switch e.What {
		case history.Started, history.Stopped, history.Continued, history.Killed, history.Exited: // told by others
		default:
			r.spoke[e.Who] = e.At
		}
		switch e.What {
		case history.RunBegan:
			r.note(&history.Trouble{Event: e, Ended: e.At})
		case history.Audited:
			r.audits[e.Who] = e
		}
		r.last = e
	}
	for _, t := range slices.Concat(view.Faults, view.Pauses) {
		r.note(t)
	}
	slices.SortStableFunc(r.troubles, func(a, b trouble) int { return cmp.Compare(a.From, b.From) })
	r.absent = absences(r.troubles)
	return r, nil
}

// note adds a trouble.
func (r *record) note(t *history.Trouble) {
	who := t.Who
	long := t.What == history.Stall && t.Ended-t.Began >= r.Run.NodeTimeout && slices.Contains(r.Run.Masters, t.Who)
	if long || t.What == history.Fault || t.What == history.RunBegan {
		who = ""
	}
	r.troubles = append(r.troubles, trouble{history.Span{From: t.Began, To: t.Ended}, t, who})
}

// forgot returns the first fault within span in which a master forgets without restarting, or nil.
func (r *record) forgot(span history.Span) *trouble {
	for i := range r.troubles {
		t := &r.troubles[i]
		if forgot, ok := t.Forgot(); ok && forgot.Meets(span) {
			return t
		}
	}
	return nil
}

// part returns the events given in the order of time, with the faults that were active between the first
// and the last of them, and with the stretches in which the processes concerned did not run.
func (r *record) part(events ...history.Event) []history.Event {
	span := history.Span{From: history.Never}
	var whose []string
	for _, e := range events {
		span.From, span.To = min(span.From, e.At), max(span.To, e.At)
		whose = append(whose, e.Who)
	}
	for i := range r.troubles {
		if t := &r.troubles[i]; t.Meets(span) && (t.who == "" || slices.Contains(whose, t.who)) {
			if events = append(events, t.Event); t.End != nil {
				events = append(events, *t.End)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// firstLook returns the first look after at that found the hold valid, or nil.
func firstLook(hold *history.Hold, at time.Duration) *history.Event {
	for _, look := range hold.Looks {
		if look.At > at {
			return look
		}
	}
	return nil
}

// absences returns when each process did not run, as its stops and stalls tell, each moment once.
func absences(troubles []trouble) map[string][]history.Span {
	all := map[string][]history.Span{}
	for _, t := range troubles {
		all[t.who] = append(all[t.who], t.Span) // faults, too, which nobody looks up
	}
	for who, spans := range all {
		all[who] = union(spans)
	}
	return all
}

// union returns the same stretches of time in order, without overlaps. Stretches that only touch stay apart.
func union(spans []history.Span) []history.Span {
	slices.SortFunc(spans, func(a, b history.Span) int { return cmp.Compare(a.From, b.From) })
	var all []history.Span
	for _, s := range spans {
		if n := len(all); n > 0 && s.From < all[n-1].To {
			all[n-1].To = max(all[n-1].To, s.To)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// without returns the parts of spans that are in none of the others. Both are in order, without overlaps.
func without(spans, others []history.Span) (left []history.Span) {
	for _, s := range spans {
		for len(others) > 0 && others[0].To <= s.From {
			others = others[1:]
		}
		for _, o := range others {
			if o.From >= s.To {
				break
			}
			if o.From > s.From {
				left = append(left, history.Span{From: s.From, To: o.From})
			}
			s.From = o.To
		}
		if s.From < s.To {
			left = append(left, s)
		}
	}
	return left
}

// away returns for how long within span at least one of the clients and masters in who did not run.
func (r *record) away(span history.Span, who ...string) time.Duration {
	var within []history.Span
	for _, one := range who {
		for _, s := range r.absent[one] {
			if s.Overlap(span) > 0 {
				within = append(within, s)
			}
		}
	}
	var sum time.Duration
	for _, s := range union(within) {
		sum += s.Overlap(span)
	}
	return sum
}

// late reports whether something was done later than grace after it was due. Time in which one of who, those that take
// part in it, did not run does not count.
func (r *record) late(due, grace, done time.Duration, who ...string) bool {
	return done > due+grace+r.away(history.Span{From: due, To: done}, who...)
}

// ended returns when a process ended: at the end of the run, if the history does not say.
func (r *record) ended(who string) time.Duration {
	if p := r.Process(who); p != nil {
		return min(p.Ended, r.End)
	}
	return r.End
}

// ran returns until when a process is known to have run. A process that was killed may not have run after its last
// event: on a busy machine, it may get no time to record more, nor to die.
func (r *record) ran(who string) time.Duration {
	if r.killed(who) {
		return min(r.ended(who), r.spoke[who])
	}
	return r.ended(who)
}

// killed reports whether a process was killed.
func (r *record) killed(who string) bool {
	p := r.Process(who)
	return p != nil && p.Killed
}
