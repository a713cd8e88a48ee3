package judge

import (
	"fmt"
	"maps"
	"slices"

	"example.com/redlock/internal/history"
)

// Register is the check that a register which refuses smaller tokens protects what is in it.
const Register = "register"

// register looks at the order in which each fenced register carried out what was asked of it.
func register(r *record) Check {
	check := Check{Name: Register}
	if !r.Run.Tokens {
		return check
	}
	for _, name := range slices.Sorted(maps.Keys(r.carried)) {
		check.Looked += len(r.carried[name])
		check.Violations = append(check.Violations, r.carriedOut(r.carried[name])...)
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
