package picture

import (
	"slices"

	"example.com/redlock/internal/history"
)

// drawing is a page in the making.
type drawing struct {
	page
	view  *history.View
	lanes map[string]int   // by name
	names map[string]int   // of locks
	bars  map[holdOf]int   // of holds
	asked map[callOf][]int // the bars of a call that was granted holds
	waits map[callOf]int   // of calls that were not
	rows  []rows           // of bars and waits, by lane
	above []rows           // of faults, by lane
}

// holdOf and callOf are a hold and a call: the process, and the number there.
type (
	holdOf struct {
		who  string
		hold int
	}
	callOf struct {
		who  string
		call int
	}
)

func draw(h *history.History, view *history.View, violations []history.Violation) page {
	d := &drawing{
		page: page{Lanes: lanes(view)}, view: view,
		lanes: map[string]int{}, names: map[string]int{}, bars: map[holdOf]int{},
		asked: map[callOf][]int{}, waits: map[callOf]int{},
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
	d.marks(h)
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
	var from at
	if len(h.Events) > 0 {
		from = at(h.Events[0].At)
	}
	d.Run = d.header(from)
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
