package picture

import (
	"cmp"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

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
	d.waits[callOf{c.Who, c.Call}] = len(d.Waits)
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
		Lane: l, Name: d.names[hold.Name], Slot: hold.Slot, Shared: hold.Shared, Token: hold.Token,
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
	d.bars[holdOf{c.Who, hold.Hold}] = len(d.Bars)
	d.asked[callOf{c.Who, c.Call}] = append(d.asked[callOf{c.Who, c.Call}], len(d.Bars))
	d.Bars = append(d.Bars, b)
}

// renewal is how much later validity must end than it was to end before for that to be a renewal, rather than
// what readings of clocks differ by.
const renewal = 10 * time.Millisecond

// marks draws what was done with holds: writes, as the registers saw them, renewals, and extensions.
func (d *drawing) marks(h *history.History) {
	add := func(who string, hold int, t at, what string, value int64) {
		if i, ok := d.bars[holdOf{who, hold}]; ok {
			d.Marks = append(d.Marks, mark{Bar: i, At: t, What: what, Value: value})
		}
	}
	for _, e := range h.Events {
		switch {
		case e.What == history.Refused:
			add(e.Who, e.Hold, at(e.At), "refused", e.Value)
		case e.What == history.Accepted && e.Do == history.PlainWriting:
			add(e.Who, e.Hold, at(e.At), "plain", e.Value)
		case e.What == history.Accepted:
			add(e.Who, e.Hold, at(e.At), "accepted", e.Value)
		}
	}
	for _, hold := range d.view.Holds {
		for i, look := range hold.Looks[1:] {
			if look.Until-hold.Looks[i].Until > renewal {
				add(hold.Who, hold.Hold, at(look.At), "renewed", 0)
			}
		}
	}
	for _, c := range d.view.Calls {
		switch {
		case c.Do != history.Extend || c.Result == nil:
		case c.Result.Err == "":
			add(c.Who, c.Hold, at(c.Returned), "extended", 0)
		default:
			add(c.Who, c.Hold, at(c.Returned), "not extended", 0)
		}
	}
	slices.SortStableFunc(d.Marks, func(a, b mark) int { return cmp.Compare(a.At, b.At) })
}
