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
		r.carriedOut(r.carried[name], &check)
	}
	return check
}

// carriedOut checks that accepted tokens never decrease, and that no token was refused that is as large as
// all that were accepted before.
func (r *record) carriedOut(events []history.Event, check *Check) {
	var largest []history.Event // one, or none yet
	for _, e := range events {
		most := int64(0)
		if largest != nil {
			most = largest[0].Token
		}
		accepted := e.What == history.Accepted
		if accepted == (e.Token < most) {
			check.add(r, e.At, fmt.Sprintf("%s: a write with token %d was %s after one with %d",
				e.Name, e.Token, e.What, most), append(largest, e)...)
		} else if accepted {
			largest = []history.Event{e}
		}
	}
}
