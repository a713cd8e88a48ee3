package main

import (
	"fmt"
	"strings"
)

// tell implements [system]: the step, then what each master and each owner has. "A3" is
// a lock of A with three ticks left.
func (l *lock) tell(do step, after *lockState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-44s", do)
	for m := range l.Masters {
		x := &after.masters[m]
		has := "free"
		for i := range l.Owners {
			if after.seats[i][m].has == 1 {
				has = fmt.Sprintf("%s%d", name(i), x.left)
			}
		}
		if l.guarded(after, m) {
			has += "(guarded)"
		}
		fmt.Fprintf(&b, " m%d %-5s", m+1, has)
	}
	for i := range l.Owners {
		switch o := &after.owners[i]; o.phase {
		case holding:
			fmt.Fprintf(&b, "  %s HOLDS for %d", name(i), o.until)
		case late:
			fmt.Fprintf(&b, "  %s has ended", name(i))
		case asking:
			fmt.Fprintf(&b, "  %s votes", name(i))
			for m := range l.Masters {
				fmt.Fprintf(&b, " %d", after.seats[i][m].vote)
			}
		}
	}
	return b.String()
}
