package judge

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Turns is the check that who comes first is served first.
const Turns = "turns"

// How much later a caller must have begun to wait to be certainly behind another. Its place is the time when
// it began, by the median of the masters' clocks as its client estimates it: from answers that were up to a
// round trip on their way. Permits change places with those that came up to 50 ms later.
const (
	behind       = 150 * time.Millisecond
	behindPermit = 250 * time.Millisecond
)

// turns looks at pairs of plain waits for one name, of which one certainly began later: it must not be
// granted while the other still waits.
//
// Readers, and holders of permits, may get in together: those at the head of the line are let in by one
// call, with a message for each, and learn of it in any order. So there the first must have waited for as
// long again. And since only the first in each client's own line stands in that of the masters (see
// docs/algorithm.md, "Waiting"), one behind it cannot get in together with others who came later: it comes
// to the masters' line only then.
//
// What faults do to the order is not promised: a master that restarts has forgotten its queue, and a client
// that is cut off has no place in it. So a pair is not judged if there was any fault from when the first
// began to wait, or shortly before. Nor is it if meanwhile one of the two processes or a master did not run:
// that loses nothing, so it does not matter before.
func turns(r *record) Check {
	check := Check{Name: Turns}
	for _, l := range r.lines() {
		var waiting []*turn
		for _, second := range l.waits {
			kept := waiting[:0]
			for _, first := range waiting {
				if first.ends > second.call.At {
					kept = append(kept, first)
				}
			}
			waiting = kept
			for _, first := range waiting {
				margin, together := behind, first.call.Do == history.RLock && second.call.Do == history.RLock
				if second.call.Do == history.Acquire {
					margin, together = behindPermit, true
				}
				if second.call.At <= first.call.At+margin || second.granted == history.Never {
					continue
				}
				overtook := first.ends > second.granted
				if together {
					overtook = first.ends > second.granted+margin
				}
				if overtook && second.call.Do != history.Lock && second.call.Do != history.LockFor && l.hidden(first, second, margin) {
					continue
				}
				if !r.undisturbed(first, second) {
					if overtook {
						check.Unjudged++
					}
					continue
				}
				check.Looked++
				if overtook {
					check.Violations = append(check.Violations, r.overtaking(l, first, second))
				}
			}
			waiting = append(waiting, second)
		}
	}
	return check
}

// hidden reports whether the first of two callers stood behind another of its process, who got in together
// with the second.
func (l *line) hidden(first, second *turn, margin time.Duration) bool {
	return slices.ContainsFunc(l.waits, func(other *turn) bool {
		return other.call.Who == first.call.Who && other.call.At < first.call.At && other.call.Do == second.call.Do &&
			other.ends > second.granted-margin
	})
}

// undisturbed reports whether nothing was done to masters and to two processes, from a while before the first
// began to wait until the second was granted.
func (r *record) undisturbed(first, second *turn) bool {
	waited := history.Span{From: first.call.At, To: second.granted}
	settled := history.Span{From: waited.From - r.Run.Lease - 2*time.Second, To: waited.To}
	who := append([]string{first.call.Who, second.call.Who}, r.Run.Masters...)
	return !r.troubled(settled) && !r.troubled(waited, who...)
}

func (r *record) overtaking(l *line, first, second *turn) history.Violation {
	events := []history.Event{first.call.Event, second.call.Event, second.hold.Event}
	what := "was not granted it"
	if first.hold != nil {
		events = append(events, first.hold.Event)
		what = fmt.Sprintf("was granted it %v after that", round(first.granted-second.granted))
	} else if first.call.Result != nil {
		events = append(events, *first.call.Result)
	}
	return history.Violation{
		Check: Turns, At: second.granted, Events: r.part(events...),
		Text: fmt.Sprintf("%s: %s was granted it after %v, but %s, which asked %v earlier, %s", l.name, second.call.Who,
			round(second.granted-second.call.At), first.call.Who, round(second.call.At-first.call.At), what),
	}
}
