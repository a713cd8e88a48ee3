package picture

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/redlock/internal/history"
)

// drawing is a page in the making.
type drawing struct {
	page
	view  *history.View
	lanes map[string]int // by name
	names map[string]int // of locks
	bars  map[nth]int    // of holds
	asked map[nth][]int  // the bars of a call that was granted holds
	waits map[nth]int    // of calls that were not
	rows  []rows         // of bars and waits, by lane
	above []rows         // of faults, by lane
}

// nth is a hold or a call: the process, and the number there.
type nth struct {
	who    string
	number int
}

func draw(h *history.History, view *history.View, violations []history.Violation) page {
	d := &drawing{
		page: page{Lanes: lanes(view)}, view: view,
		lanes: map[string]int{}, names: map[string]int{}, bars: map[nth]int{},
		asked: map[nth][]int{}, waits: map[nth]int{},
	}
	for i, l := range d.Lanes {
		d.lanes[l.Name] = i
	}
	d.rows, d.above = make([]rows, len(d.Lanes)), make([]rows, len(d.Lanes))
	d.sortNames()
	for _, c := range view.Calls {
		if c.Do.Takes() {
			d.call(c)
		}
	}
	d.marks()
	d.HandOffs = handOffs(d.Bars, at(view.Run.Lease))
	for _, f := range view.Faults {
		d.fault(f)
	}
	for _, v := range violations {
		d.violation(v)
	}
	if violations != nil && d.Violations == nil {
		d.Violations = []violation{}
	}
	for i := range d.Lanes {
		d.Lanes[i].Rows, d.Lanes[i].Above = len(d.rows[i].ends), len(d.above[i].ends)
	}
	d.Run = d.header(at(h.Events[0].At)) // there is one of kind run, or it were no history
	return d.page
}

func (d *drawing) header(from at) run {
	r := d.view.Run
	kinds := map[string]bool{}
	for _, f := range d.view.Faults {
		kinds[f.Fault] = true
	}
	head := run{
		Title: r.Title, Seed: r.Seed, Masters: r.Masters,
		Lease: at(r.Lease), MaxLease: at(r.MaxLease), Guard: at(r.Guard), Replay: r.Replay,
		From: from, Over: at(d.view.Over), End: at(d.view.End),
		Calls: len(d.view.Calls), Granted: len(d.view.Holds), Faults: len(d.view.Faults), Kinds: len(kinds),
	}
	if !r.Began.IsZero() {
		head.Began = r.Began.UTC().Format("2006-01-02 15:04:05 MST")
	}
	return head
}

// sortNames numbers the names of locks.
func (d *drawing) sortNames() {
	for _, c := range d.view.Calls {
		d.Names = append(d.Names, c.Names...)
	}
	for _, hold := range d.view.Holds {
		d.Names = append(d.Names, hold.Name)
	}
	slices.Sort(d.Names)
	d.Names = slices.Compact(d.Names)
	for i, name := range d.Names {
		d.names[name] = i
	}
}

// end returns when a process ended, or the run.
func (d *drawing) end(who string) at {
	if p := d.view.Process(who); p != nil {
		return at(min(p.Ended, d.view.End))
	}
	return at(d.view.End)
}

// call draws a call that asks for holds: the holds, or that it got none.
func (d *drawing) call(c *history.Call) {
	l := d.lanes[laneOf(c.Who)]
	for _, hold := range c.Holds {
		d.hold(l, c, hold)
	}
	if len(c.Holds) > 0 {
		return
	}
	w := wait{
		Lane: l, At: at(c.At), End: min(at(c.Returned), d.end(c.Who)), Deadline: at(c.Deadline),
		Who: c.Who, Call: c.Call, Do: c.Do,
	}
	for _, name := range c.Names {
		w.Names = append(w.Names, d.names[name])
	}
	if c.Result != nil {
		w.Err, w.Text = c.Result.Err, cut(c.Result.Text)
	}
	w.Row = d.rows[l].place(w.At, w.End)
	d.waits[nth{c.Who, c.Call}] = len(d.Waits)
	d.Waits = append(d.Waits, w)
}

// longest is how many letters of an error there are on the page: there can be thousands of errors.
const longest = 160

func cut(text string) string {
	if letters := []rune(text); len(letters) > longest {
		return string(letters[:longest-1]) + "…"
	}
	return text
}

// hold draws a hold. One that was not unlocked takes its row until its validity ends, since nobody else
// can have the lock before.
func (d *drawing) hold(l int, c *history.Call, hold *history.Hold) {
	b := bar{
		Lane: l, Name: d.names[hold.Name], Slot: hold.Slot, Shared: hold.Shared, Token: strconv.FormatInt(hold.Token, 10),
		Asked: at(c.At), At: at(hold.At), Until: at(hold.Until), Gone: never, Downgraded: at(hold.Downgraded),
		Who: c.Who, Hold: hold.Hold, Call: c.Call, Do: c.Do,
	}
	b.End, b.How = d.end(c.Who), open
	if b.End < at(d.view.End) {
		b.How = died
	}
	if u := hold.Unlock; u != nil {
		b.End, b.How, b.Gone = at(u.At), unlocked, at(u.Returned)
	}
	if hold.Lost != nil && at(hold.Lost.At) <= b.End {
		b.End, b.How, b.Why = at(hold.Lost.At), lost, hold.Lost.Text
	}
	taken := max(b.End, b.Until)
	if b.How == unlocked {
		taken = max(b.End, min(b.Gone, d.end(c.Who)))
	}
	b.Row = d.rows[l].place(b.Asked, taken)
	d.bars[nth{c.Who, hold.Hold}] = len(d.Bars)
	d.asked[nth{c.Who, c.Call}] = append(d.asked[nth{c.Who, c.Call}], len(d.Bars))
	d.Bars = append(d.Bars, b)
}

// renewal is how much later validity must end than it was to end before for that to be a renewal, rather than
// what readings of clocks differ by.
const renewal = 10 * time.Millisecond

// marks draws what was done with holds: writes, renewals, and extensions.
func (d *drawing) marks() {
	add := func(who string, hold int, t time.Duration, what string) {
		if i, ok := d.bars[nth{who, hold}]; ok {
			d.Marks = append(d.Marks, mark{i, at(t), what})
		}
	}
	for _, w := range d.view.Writes {
		what := "write"
		if w.Stale {
			what = "late write"
		}
		add(w.Who, w.Hold, w.At, what)
	}
	for _, hold := range d.view.Holds {
		for i, look := range hold.Looks[1:] {
			if look.Until-hold.Looks[i].Until > renewal {
				add(hold.Who, hold.Hold, look.At, "renewed")
			}
		}
	}
	for _, c := range d.view.Calls {
		switch {
		case c.Do != history.Extend || c.Result == nil:
		case c.Result.Err == "":
			add(c.Who, c.Hold, c.Returned, "extended")
		default:
			add(c.Who, c.Hold, c.Returned, "not extended")
		}
	}
	slices.SortStableFunc(d.Marks, func(a, b mark) int { return cmp.Compare(a.At, b.At) })
}

// handOffs finds who was handed a lock by whom: a call that waited when the holder before unlocked, and was
// granted the lock within a third of the lease. Later than that no hand-off wins: two renewals must fit into
// what is left. Of several readers the last one to unlock hands over.
func handOffs(bars []bar, lease at) []handOff {
	type key struct{ name, slot int }
	// The order of what happened to each key.
	type step struct {
		at   at
		bar  int
		gone bool // unlocked, rather than granted
	}
	steps := map[key][]step{}
	var keys []key
	for i, b := range bars {
		k := key{b.Name, b.Slot}
		if steps[k] == nil {
			keys = append(keys, k)
		}
		steps[k] = append(steps[k], step{at: b.At, bar: i})
		if b.How == unlocked {
			steps[k] = append(steps[k], step{at: b.End, bar: i, gone: true})
		}
	}
	var found []handOff
	for _, k := range keys {
		slices.SortStableFunc(steps[k], func(a, b step) int { return cmp.Compare(a.at, b.at) })
		from := -1 // who unlocked last, as long as nobody else had the lock alone since
		for _, s := range steps[k] {
			if s.gone {
				from = s.bar
				continue
			}
			to := bars[s.bar]
			if from >= 0 && to.Do.Waits() && to.Asked < bars[from].End && to.At-bars[from].End <= lease/3 {
				found = append(found, handOff{From: from, To: s.bar})
			}
			if !to.Shared {
				from = -1
			}
		}
	}
	slices.SortFunc(found, func(a, b handOff) int {
		return cmp.Or(cmp.Compare(bars[a.To].At, bars[b.To].At), cmp.Compare(a.To, b.To))
	})
	return found
}

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

// fault draws a fault on each lane that it is on.
func (d *drawing) fault(f *history.Trouble) {
	on := f.On
	if len(on) == 0 {
		on = d.view.Run.Masters
	}
	_, forgets := f.Forgot()
	var drawn []int
	for _, who := range on {
		l, ok := d.lanes[laneOf(who)]
		if !ok || slices.Contains(drawn, l) {
			continue
		}
		drawn = append(drawn, l)
		d.Faults = append(d.Faults, fault{
			Lane: l, Row: d.above[l].place(at(f.At), min(at(f.Ended), at(d.view.End))),
			From: at(f.At), To: at(f.Ended), Kind: f.Fault, Forgets: forgets, On: on, Text: f.Text,
		})
	}
}

// violation marks the holds, waits and lanes that the events of a violation name, and the time that they take.
func (d *drawing) violation(v history.Violation) {
	drawn := violation{
		Check: v.Check, Text: v.Text, Unpromised: v.Unpromised,
		At: at(v.At), From: at(v.At), To: at(v.At), Bars: []int{}, Waits: []int{}, Lanes: []int{},
	}
	note := func(list *[]int, i int, ok bool) {
		if ok && !slices.Contains(*list, i) {
			*list = append(*list, i)
		}
	}
	for _, e := range v.Events {
		drawn.From, drawn.To = min(drawn.From, at(e.At)), max(drawn.To, at(e.At))
		bar, ok := d.bars[nth{e.Who, e.Hold}]
		note(&drawn.Bars, bar, ok && e.Hold > 0)
		wait, ok := d.waits[nth{e.Who, e.Call}]
		note(&drawn.Waits, wait, ok && e.Call > 0)
		for _, bar := range d.asked[nth{e.Who, e.Call}] {
			note(&drawn.Bars, bar, e.Call > 0)
		}
		lane, ok := d.lanes[laneOf(e.Who)]
		note(&drawn.Lanes, lane, ok)
	}
	d.Violations = append(d.Violations, drawn)
}
