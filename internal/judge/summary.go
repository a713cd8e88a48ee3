package judge

import (
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Summary is what there was in a history.
type Summary struct {
	Calls  map[history.Do]int
	Holds  map[history.Do]int // by the kind of call that was granted them
	Faults map[string]int     // by kind
	Undone map[string]int     // of these, those that could not be done
	Lost   int                // holds that were lost while they were held
	Wasted int                // of these, holds that were to be renewed, by a client and on masters that had time for that

	// Unavailable is the longest stretch in which a name was waited for and nobody had it, and Calm the
	// longest of these without any fault.
	Unavailable, Calm Unavailable

	Stale   int // writes with an older token than one before: what looks at tokens refuses them
	Writes  int
	Excused int // pairs of holds that nobody promised to exclude
	Caught  int // of these, with tokens that a resource can tell apart
}

// Unavailable is a stretch in which a name was waited for and nobody had it.
type Unavailable struct {
	Name string
	history.Span
}

// Lasted returns how long it was.
func (u Unavailable) Lasted() time.Duration { return u.To - u.From }

// summary counts. excused are the pairs of holds that exclusion found and excused.
func (r *record) summary(excused [][2]*history.Hold) Summary {
	s := Summary{
		Calls: map[history.Do]int{}, Holds: map[history.Do]int{}, Faults: map[string]int{},
		Undone: map[string]int{}, Excused: len(excused), Writes: len(r.Writes),
	}
	for _, c := range r.Calls {
		s.Calls[c.Do]++
	}
	for _, h := range r.Holds {
		s.Holds[h.By.Do]++
		if h.Lost != nil && h.Lost.Err != history.Closed {
			s.Lost++
			if h.By.Do != history.LockFor && r.hadTime(h) {
				s.Wasted++
			}
		}
	}
	for _, w := range r.Writes {
		if w.Stale {
			s.Stale++
		}
	}
	for _, f := range r.Faults {
		if s.Faults[f.Fault]++; f.End != nil && f.End.Text != "" {
			s.Undone[f.Fault]++
		}
	}
	for _, pair := range excused {
		if pair[0].Token != pair[1].Token {
			s.Caught++
		}
	}
	calms := r.calms()
	for _, l := range r.lines() {
		for _, span := range r.lacking(l) {
			if u := (Unavailable{l.name, span}); u.Lasted() > s.Unavailable.Lasted() {
				s.Unavailable = u
			}
			for _, calm := range calms {
				u := Unavailable{l.name, history.Span{From: max(span.From, calm.From), To: min(span.To, calm.To)}}
				if u.Lasted() > s.Calm.Lasted() {
					s.Calm = u
				}
			}
		}
	}
	return s
}

// hadTime reports whether the stalls of a client and of the masters left time to renew a hold that was lost: they took
// less of its last lease than the third after which the first renewal is due.
func (r *record) hadTime(h *history.Hold) bool {
	var stalls []history.Span
	for _, t := range r.troubles {
		if t.What == history.Stall && (t.Who == h.Who || slices.Contains(r.Run.Masters, t.Who)) {
			stalls = append(stalls, t.Span)
		}
	}
	last, sum := history.Span{From: h.Lost.At - r.Run.Lease, To: h.Lost.At}, time.Duration(0)
	for _, s := range union(stalls) {
		sum += s.Overlap(last)
	}
	return sum < r.Run.Lease/3
}

// Sum returns how many there are of all kinds.
func Sum[K comparable](counts map[K]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}
