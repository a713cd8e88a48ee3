package judge

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Register is the check that a register which refuses smaller tokens protects what is in it.
const Register = "register"

// register looks at the fenced registers from both sides: at the order in which each carried out what was
// asked of it, and, with porcupine, at whether what clients were told could come from one that does one
// thing after the other.
func register(r *record) Check {
	check := Check{Name: Register}
	if !r.Run.Tokens {
		return check
	}
	for _, name := range slices.Sorted(maps.Keys(r.carried)) {
		check.Looked += len(r.carried[name])
		check.Violations = append(check.Violations, r.carriedOut(r.carried[name])...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.accesses)) {
		check.Looked += len(r.accesses[name])
		for i, some := range segments(r.accesses[name]) {
			check.Violations = append(check.Violations, r.misread(name, some, i == 0)...)
		}
	}
	return check
}

// carriedOut checks that accepted tokens never decrease, and that no token was refused that is as large as
// all that were accepted before.
func (r *record) carriedOut(events []history.Event) []history.Violation {
	var violations []history.Violation
	var largest history.Event
	for _, e := range events {
		wrong := e.What == history.Accepted && e.Token < largest.Token || e.What == history.Refused && e.Token >= largest.Token
		if wrong {
			part := []history.Event{e}
			if largest.What != "" {
				part = []history.Event{largest, e}
			}
			violations = append(violations, history.Violation{
				Check: Register, At: e.At, Events: r.part(part...),
				Text: fmt.Sprintf("%s: a write with token %d was %s after one with %d", e.Name, e.Token, e.What, largest.Token),
			})
		}
		if e.What == history.Accepted && e.Token >= largest.Token {
			largest = e
		}
	}
	return violations
}

// access is a call that read or wrote a register, with what it was told.
type access struct {
	call    *history.Call
	ends    time.Duration // it had its effect by then, if any
	outcome outcome
}

type outcome int

const (
	read outcome = iota
	accepted
	refused
	unknown // a write that did not return, or with another error
	lawless // a write that was accepted, though its token was too small: what it wrote is there
)

// accessesOf sorts the calls to fenced registers by name.
func accessesOf(view *history.View) map[string][]access {
	all := map[string][]access{}
	for _, c := range view.Calls {
		a := access{call: c, ends: c.Returned}
		told := c.Result != nil && c.Result.Err == ""
		switch {
		case c.Do == history.Reading && told:
			a.outcome = read
		case c.Do != history.Writing: // a read that failed, or another call
			continue
		case told:
			a.outcome = accepted
		case c.Result != nil && c.Result.Err == history.Stale:
			a.outcome = refused
		default:
			a.outcome, a.ends = unknown, history.Never
		}
		all[c.Names[0]] = append(all[c.Names[0]], a)
	}
	for _, some := range all {
		bound(some)
	}
	return all
}

// bound ends the writes of which nobody knows the outcome. Once a write with a larger token was accepted, it
// makes no difference if one that is still on its way is carried out or not.
func bound(some []access) {
	for i := range some {
		a := &some[i]
		if a.outcome != unknown {
			continue
		}
		for _, later := range some {
			if later.outcome == accepted && later.call.Token > a.call.Token && later.ends >= a.call.At {
				a.ends = min(a.ends, later.ends)
			}
		}
	}
}
