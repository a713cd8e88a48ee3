package main

import (
	"fmt"
	"strings"
)

// tell implements [system]: the step, then the counter of each master and who has the
// lock there, and what each owner has read.
func (t *token) tell(do step, after *tokenState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s", do)
	for m := range t.Masters {
		has := ""
		if i := t.holder(after, m); i >= 0 {
			has = name(i)
		}
		if after.masters[m].guarded == 1 {
			has += "(guarded)"
		}
		fmt.Fprintf(&b, " m%d %-4s", m+1, fmt.Sprint(after.masters[m].counter, has))
	}
	for i := range t.Owners {
		switch o := &after.owners[i]; o.phase {
		case asking:
			fmt.Fprintf(&b, "  %s has answers", name(i))
			for m := range t.Masters {
				fmt.Fprintf(&b, " %d", after.seats[i][m].answer)
			}
		case raising:
			fmt.Fprintf(&b, "  %s raises to %d", name(i), o.raiseTo[o.rounds-1])
		case holding:
			fmt.Fprintf(&b, "  %s HOLDS with %d", name(i), o.token)
		case over:
			fmt.Fprintf(&b, "  %s held with %d", name(i), o.token)
		}
	}
	return b.String()
}
