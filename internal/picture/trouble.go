package picture

import (
	"slices"

	"example.com/redlock/internal/history"
)

// fault draws a fault on each lane that it is on.
func (d *drawing) fault(f *history.Trouble) {
	on := f.On
	if len(on) == 0 {
		on = d.view.Run.Masters
	}
	var drawn []int
	for _, who := range on {
		l, ok := d.lanes[laneOf(who)]
		if !ok || slices.Contains(drawn, l) {
			continue
		}
		drawn = append(drawn, l)
		d.Faults = append(d.Faults, fault{
			Lane: l, Row: d.above[l].place(at(f.At), min(at(f.Ended), at(d.view.End))),
			From: at(f.At), To: at(f.Ended), Kind: f.Fault, ID: f.ID, Forgets: f.Forgets, On: on, Text: f.Text,
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
		bar, ok := d.bars[holdOf{e.Who, e.Hold}]
		note(&drawn.Bars, bar, ok && e.Hold > 0)
		wait, ok := d.waits[callOf{e.Who, e.Call}]
		note(&drawn.Waits, wait, ok && e.Call > 0)
		for _, bar := range d.asked[callOf{e.Who, e.Call}] {
			note(&drawn.Bars, bar, e.Call > 0)
		}
		lane, ok := d.lanes[laneOf(e.Who)]
		note(&drawn.Lanes, lane, ok)
	}
	d.Violations = append(d.Violations, drawn)
}
