package judge

import (
	"cmp"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

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

// union returns the same stretches of time in order, each moment once. Those that only touch stay apart.
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

// without returns what is left of spans without the others. Both are in order, each moment once.
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

// away returns for how long within span one of several did not run, clients or masters.
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

// late reports whether something was done later than grace after it was due: time in which one of those who have a
// part in it did not run does not count.
func (r *record) late(due, grace, done time.Duration, who ...string) bool {
	return done > due+grace+r.away(history.Span{From: due, To: done}, who...)
}

// ended returns when a process was there for the last time: the end of the run, if it is not known.
func (r *record) ended(who string) time.Duration {
	if p := r.Process(who); p != nil {
		return min(p.Ended, r.End)
	}
	return r.End
}

// ran returns until when a process is known to have run. One that was killed may not have run after what it told
// last: a machine that is too busy for it may keep it from telling more, and from dying as well.
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
