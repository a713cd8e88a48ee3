package judge

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Exclusion is the check that no two clients have the same name, or the same slot of a semaphore, at a time.
const Exclusion = "exclusion"

// exclusion looks for two holds of a key that were certainly valid at the same moment. A hold was certainly valid from
// its grant until the last look that found it valid, since the time of a look is taken before the look. So there is
// nothing to allow for: both clients were told that they had the lock.
//
// A hold that nobody looked at after its grant counts as never valid: its process may have been stopped between the
// return of the library and the record of the grant.
//
// A slot above the permits that its holder asked for is one holder too many, even if nobody else has a slot.
//
// excused are the pairs that nobody promised to exclude.
func exclusion(r *record) (check Check, excused [][2]*history.Hold) {
	check.Name = Exclusion
	for _, key := range r.keys {
		var open []*history.Hold // that may be valid when the next is granted
		for _, second := range r.byKey[key] {
			check.Looked++
			if most := second.By.Permits; most > 0 && second.Slot > most {
				check.add(r, second.At, fmt.Sprintf("%s has %s, and asked for one of %d", second.Who, key, most),
					second.By.Event, second.Event)
			}
			open = slices.DeleteFunc(open, func(first *history.Hold) bool { return first.Alive() <= second.At })
			for _, first := range open {
				if v, found := r.overlap(first, second); found {
					check.Violations = append(check.Violations, v)
					if v.Unpromised != "" {
						excused = append(excused, [2]*history.Hold{first, second})
					}
				}
			}
			open = append(open, second)
		}
	}
	return check, excused
}

// overlap reports whether two holds, the first granted no later than the second, were valid at the same moment, while at
// least one of them was a writer's.
func (r *record) overlap(first, second *history.Hold) (history.Violation, bool) {
	together := history.Span{
		From: second.At,
		To:   min(first.Alive(), second.Alive(), max(writesUntil(first), writesUntil(second))),
	}
	if together.To <= together.From {
		return history.Violation{}, false
	}
	v := history.Violation{
		Check: Exclusion, At: second.At,
		Text: fmt.Sprintf("%s and %s had %s at the same time for at least %v",
			first.Who, second.Who, second.Key(), round(together.To-together.From)),
		Events: r.part(first.By.Event, first.Event, second.Event, *firstLook(first, second.At), *firstLook(second, second.At)),
	}
	if fault := r.excuse(first, second); fault != nil {
		v.Unpromised = forgotten(fault)
	}
	return v, true
}

// writesUntil returns until when a hold is a writer's. A hold that is downgraded counts as a reader's from the call on.
func writesUntil(h *history.Hold) time.Duration {
	if h.Shared {
		return 0
	}
	return h.Downgraded
}

// excuse returns the fault because of which nobody promised that two holds exclude each other, the first granted no later
// than the second. It returns nil if there is none.
//
// A master whose vote both count must have forgotten one of its two votes, without restarting, before the second hold was
// granted. It gave that vote after the first of the two calls began, and at most the longest lease ago, give or take 1 %
// for the clocks, and a second for an answer that was late. While a master's clock is slow or was set back, the master
// forgets nothing: its votes only last longer. It forgets when its clock is set right.
func (r *record) excuse(first, second *history.Hold) *trouble {
	from := min(r.votedFrom(first), r.votedFrom(second))
	return r.forgot(history.Span{
		From: max(from, second.At-r.Run.MaxLease-r.Run.MaxLease/100-time.Second),
		To:   second.At,
	})
}

// forgotten says why nobody promised otherwise.
func forgotten(t *trouble) string {
	return fmt.Sprintf("masters forgot without restarting (%s)", t.Fault)
}

// votedFrom returns the earliest time at which a hold's votes may have been given: the beginning of its call, or earlier
// if its client may have kept the lock.
func (r *record) votedFrom(hold *history.Hold) time.Duration {
	if p := r.Process(hold.Who); p != nil && p.Keep > 0 {
		return hold.By.At - p.Keep - r.Run.Lease
	}
	return hold.By.At
}

// stale returns the fault because of which nobody promised that a hold's token is larger than those granted before its
// call, or nil: a master forgot what the client may have kept, or forgot the hold with which a reader shares its token.
// The renewals of that other hold bring its token back, even after a writer had the lock with a larger one.
func (r *record) stale(hold *history.Hold) *trouble {
	from := r.votedFrom(hold)
	if hold.Shared {
		for _, other := range r.byKey[hold.Key()] {
			if other.Token == hold.Token {
				from = min(from, other.By.At)
			}
		}
	}
	if from == hold.By.At {
		return nil
	}
	return r.forgot(history.Span{From: from, To: hold.At})
}

// round rounds a time for people.
func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
