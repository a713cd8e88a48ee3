package picture

import (
	"cmp"
	"slices"
	"strings"

	"example.com/redlock/internal/history"
)

// laneOf is the name of a client's lane. A client that was killed has a successor, "c2.2" after "c2", and
// they share one.
func laneOf(who string) string {
	base, number, found := strings.Cut(who, ".")
	if !found || strings.Trim(number, "0123456789") != "" {
		return who
	}
	return base
}

// lanes returns the lanes of masters, and below them those of clients, in the order in which they started.
func lanes(view *history.View) []lane {
	var all []lane
	place := map[string]int{}
	for i, m := range view.Run.Masters {
		all = append(all, lane{Name: m, Master: true})
		place[m] = i
	}
	client := func(who string) int {
		name := laneOf(who)
		i, ok := place[name]
		if !ok {
			i, place[name] = len(all), len(all)
			all = append(all, lane{Name: name})
		}
		return i
	}
	for _, p := range view.Processes {
		l := &all[client(p.Who)]
		l.Lives = append(l.Lives, life{Who: p.Who, Skew: at(p.Skew), Began: at(p.Began), Ended: at(p.Ended), Killed: p.Killed})
	}
	for _, c := range view.Calls {
		client(c.Who)
	}
	for _, p := range view.Pauses {
		if i, ok := place[laneOf(p.Who)]; ok {
			all[i].Gaps = append(all[i].Gaps, gap{From: at(p.Began), To: at(p.Ended), Stopped: p.What == history.Stopped})
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Gaps, func(a, b gap) int { return cmp.Compare(a.From, b.From) })
	}
	return all
}

// rows puts intervals into as few rows as it takes for them not to overlap.
type rows struct{ ends []at }

// place returns the row of an interval. They must come in the order of their beginnings.
func (r *rows) place(from, to at) int {
	for i, end := range r.ends {
		if end <= from {
			r.ends[i] = to
			return i
		}
	}
	r.ends = append(r.ends, to)
	return len(r.ends) - 1
}
