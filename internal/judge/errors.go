package judge

import (
	"fmt"
	"slices"

	"example.com/redlock/internal/history"
)

// Errors is the check that what calls return is documented, and does not contradict what is known.
const Errors = "errors"

// answers looks at what each call returned:
//
//   - The error is one that the library documents.
//   - Unlock of a hold that was seen to be lost says so.
//   - A hold that Unlock gives back for the first time is not one that nobody holds.
//   - A hold of which a call said that it is lost is not valid afterwards.
//   - A try says that a name is taken only if it may be.
func answers(r *record) Check {
	check := Check{Name: Errors}
	found := func(c *history.Call, text string, others ...history.Event) {
		check.add(r, c.Returned, fmt.Sprintf("%s: %s %s", c.Who, c.Do, text), append(others, c.Event, *c.Result)...)
	}
	for _, c := range r.Calls {
		if c.Result == nil {
			continue
		}
		check.Looked++
		if c.Result.Err == history.Unknown {
			found(c, "returned "+c.Result.Text)
		}
	}
	for _, h := range r.Holds {
		if c := h.Unlock; c != nil && c.Result != nil {
			switch {
			case c.Result.Err == "" && h.Lost != nil && h.Lost.At < c.At:
				found(c, "returned no error, though the hold was lost", *h.Lost)
			case c.Result.Err == history.NotHeld:
				found(c, "says that nobody holds what was not unlocked before", h.Event)
			}
		}
	}
	for _, c := range r.Calls {
		if h := r.Hold(c.Who, c.Hold); h != nil && c.Result != nil && c.Result.Err == history.NoLock && h.Alive() > c.Returned {
			found(c, "says that the hold is lost, but it was valid later", *h.Looks[len(h.Looks)-1])
		}
	}
	for _, l := range r.lines() {
		for _, t := range l.takes {
			if t.call.Result != nil && t.call.Result.Err == history.Taken && !t.call.Do.Waits() && r.alone(l, t) {
				found(t.call, fmt.Sprintf("says that %s is taken, though nobody had it or asked for it for long", l.name))
			}
		}
	}
	return check
}

// alone reports whether nobody had or asked for a name, and there was no fault, for long before a turn until
// it was over: so long that whatever was left behind has ended.
func (r *record) alone(l *line, t *turn) bool {
	span := history.Span{From: t.call.At - r.settles(), To: t.call.Returned}
	if slices.ContainsFunc(r.troubles, func(t trouble) bool { return t.who == "" && t.Meets(span) }) {
		return false
	}
	for _, h := range l.holds {
		if h.At <= span.To && r.gone(h) >= span.From {
			return false
		}
	}
	for _, other := range l.takes {
		if other.call != t.call && other.call.At <= span.To && min(other.call.Returned, r.after(other.call.Who)) >= span.From {
			return false
		}
	}
	return true
}
