package main

import (
	"fmt"
	"strings"
	"time"
)

// verdict is what a case showed, and how.
type verdict struct {
	testCase
	found
	took time.Duration
}

// run searches a case.
func (c testCase) run() verdict {
	start := time.Now()
	return verdict{c, c.search(), time.Since(start)}
}

// complaint says what is wrong with a verdict, "" if it is what it must be.
func (v *verdict) complaint() string {
	if v.wrong != v.shows {
		return fmt.Sprintf("shows %s, want %s", show(v.wrong), show(v.shows))
	}
	if !v.done {
		return fmt.Sprintf("did not finish within %d states", v.states)
	}
	// What never comes to a hold is safe for no reason.
	if v.shows == safe && v.fired[actHold] == 0 {
		return "nobody ever holds the lock"
	}
	return ""
}

func show(wrong string) string {
	if wrong == safe {
		return "no violation"
	}
	return fmt.Sprintf("%q", wrong)
}

// dead lists the actions that never happened in any case of a family that should have
// them: what such an action stands for is not tested.
func dead(verdicts []verdict) []string {
	var never []string
	for _, f := range []family{exclusion, heal, handOff, tokens} {
		var fired [actions]bool
		for i := range verdicts {
			if verdicts[i].family != f {
				continue
			}
			for a, n := range verdicts[i].fired {
				fired[a] = fired[a] || n > 0
			}
		}
		for a, happened := range fired {
			if !happened && strings.Contains(told[a].in, string(f[:1])) {
				never = append(never, fmt.Sprintf("%s: %q", f, told[a].text))
			}
		}
	}
	return never
}
