package judge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Service is the check that all callers are served once faults are over.
const Service = "service"

// soon is the longest time that it may take to notice that a name is free, and to get it, if nothing is wrong and masters
// are near.
const soon = 2 * time.Second

// prompt is soon, or four round trips to masters that are far away: to be refused, to get what another has been
// asked to give back, and twice a script that a master lacks.
func (r *record) prompt() time.Duration { return max(soon, 2*r.Run.NodeTimeout) }

// service looks at the stretches without faults, once lease, guard and prompt have passed:
//
//   - A name that somebody waits for is without a holder for no longer than prompt.
//   - A plain wait is granted no later than prompt after all who were there before it are gone: those that
//     had the name, or may have, and those that asked no later than it, by what can be told.
//
// Each trial ends with such a stretch, so no wait can go on forever unnoticed. Time in which any client or master did not
// run does not count, since others may have waited for it.
func service(r *record) Check {
	check := Check{Name: Service}
	calms, prompt, everybody := r.calms(), r.prompt(), slices.Collect(maps.Keys(r.absent))
	for _, l := range r.lines() {
		lacking := r.lacking(l)
		for _, calm := range calms {
			served := history.Span{From: calm.From + r.settles(), To: calm.To}
			if served.From >= served.To {
				continue
			}
			var told []history.Span
			for _, s := range lacking {
				check.Looked++
				s = history.Span{From: max(s.From, served.From-prompt), To: min(s.To, served.To)}
				if r.late(s.From, prompt, s.To, everybody...) {
					r.unserved(l, s, &check)
					told = append(told, s)
				}
			}
			for _, t := range l.waits {
				from, to := max(t.call.At, served.From-prompt), min(t.ends, served.To)
				if from >= to {
					continue
				}
				check.Looked++
				waited := history.Span{From: max(from, r.before(l, t, from)), To: to}
				if r.late(waited.From, prompt, to, everybody...) && !slices.ContainsFunc(told, func(s history.Span) bool { return s.Overlap(waited) > 0 }) {
					r.starved(l, t, waited, &check)
				}
			}
		}
	}
	return check
}

// before returns when all callers and holds are gone that were there before a turn that still asks at from.
func (r *record) before(l *line, t *turn, from time.Duration) time.Duration {
	var last time.Duration
	for _, h := range l.holds {
		if h.At <= from {
			last = max(last, r.gone(h))
		}
	}
	for _, other := range l.takes {
		latest := t.call.At + agrees
		if t.call.Do == history.Acquire {
			latest = t.call.At + behindPermit
		}
		if other.call.Do == history.LockAll {
			latest = max(latest, from) // it may have had the name while faults kept it from the others
		}
		if other.call == t.call || other.call.At > latest {
			continue
		}
		last = max(last, other.ends)
		if other.hold != nil {
			last = max(last, r.gone(other.hold))
		}
	}
	return last
}

// unserved reports a stretch in which nobody had a name.
func (r *record) unserved(l *line, s history.Span, check *Check) {
	var events []history.Event
	if i := slices.IndexFunc(l.waits, func(t *turn) bool { return t.call.At <= s.From && t.ends > s.From }); i >= 0 {
		events = append(events, l.waits[i].call.Event)
	}
	if i := slices.IndexFunc(l.holds, func(h *history.Hold) bool { return h.At >= s.To }); i >= 0 {
		events = append(events, l.holds[i].Event)
	}
	check.add(r, s.From+r.prompt(), fmt.Sprintf("%s: for %v from %v on nobody had it, though it was waited for and there was no fault",
		l.name, round(s.To-s.From), round(s.From)), events...)
}

// starved reports a wait that went on although all before it were gone.
func (r *record) starved(l *line, t *turn, s history.Span, check *Check) {
	events := []history.Event{t.call.Event}
	what := "had not been granted it yet"
	switch {
	case t.hold != nil:
		events, what = append(events, t.hold.Event), "was granted it"
	case t.call.Result != nil:
		events, what = append(events, *t.call.Result), "gave up"
	}
	check.add(r, s.From+r.prompt(), fmt.Sprintf("%s: %s %s %v after all before it were gone, without any fault",
		l.name, t.call.Who, what, round(s.To-s.From)), events...)
}

// settles returns for how long after the last fault a wait may go on although nobody holds it up.
func (r *record) settles() time.Duration { return r.Run.Lease + max(0, r.Run.Guard) + r.prompt() }

// calms returns the stretches without any fault, and in which no process was stopped from outside.
func (r *record) calms() []history.Span {
	var busy []history.Span
	for _, t := range r.troubles {
		if t.who == "" || t.What == history.Stopped {
			busy = append(busy, t.Span)
		}
	}
	return without([]history.Span{{To: r.End}}, union(busy))
}
