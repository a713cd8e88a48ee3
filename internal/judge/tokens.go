package judge

import (
	"fmt"

	"example.com/redlock/internal/history"
)

// Tokens is the check that fencing tokens are unique and grow.
const Tokens = "tokens"

// tokens looks at pairs of holds of a key. No two writers may have the same token, and a hold that certainly came after
// another must have a larger one, except that a reader may have the token of a writer before it, and readers need not be
// in order. A hold came after another if it was asked for when the other had been granted, or if it was seen to be valid
// after that, though the two exclude each other. So of two callers that waited at the same time, the one that got in
// after the other had left needs the larger token. Of several holds that contradict one, only that with the largest token
// is reported.
func tokens(r *record) Check {
	check := Check{Name: Tokens}
	for _, key := range r.keys {
		writers := map[int64]*history.Hold{}
		for _, second := range r.byKey[key] {
			check.Looked++
			if same := writers[second.Token]; same != nil && !second.Shared {
				r.misordered(same, second, "has the same", second.By.Event, &check)
				continue
			}
			if !second.Shared {
				writers[second.Token] = second
			}
			var first *history.Hold
			for _, other := range r.byKey[key] {
				if (first == nil || other.Token > first.Token) && contradict(other, second) && (asked(other, second) || r.saw(other, second)) {
					first = other
				}
			}
			switch {
			case first == nil:
			case !asked(first, second):
				r.misordered(first, second, "had it later, and has", *second.Looks[len(second.Looks)-1], &check)
			case second.Shared:
				r.misordered(first, second, "asked later, to read, and has", second.By.Event, &check)
			default:
				r.misordered(first, second, "asked later, and has", second.By.Event, &check)
			}
		}
	}
	return check
}

// contradict reports whether the second of two holds cannot have come after the first, by their tokens.
func contradict(first, second *history.Hold) bool {
	return !(first.Shared && second.Shared) &&
		(first.Token > second.Token || first.Token == second.Token && first.Shared)
}

// asked reports whether the second of two holds was asked for when the first had been granted.
func asked(first, second *history.Hold) bool { return first.At < second.By.At }

// saw reports whether the second of two holds was seen to be valid after the first had been granted, though the two
// exclude each other. As in exclusion, a hold that nobody looked at after its grant may have ended long before.
func (r *record) saw(first, second *history.Hold) bool {
	alone := second.Alive()
	if first.Shared {
		alone = min(alone, second.Downgraded)
	}
	if len(second.Looks) == 1 || first.At >= alone {
		return false
	}
	if first.At < second.At {
		return r.excuse(first, second) == nil
	}
	return r.excuse(second, first) == nil
}

// misordered reports two holds. The event later shows that the second came after the first.
func (r *record) misordered(first, second *history.Hold, text string, later history.Event, check *Check) {
	check.add(r, second.At, fmt.Sprintf("%s: %s has token %d, %s %s %d", second.Key(), first.Who, first.Token, second.Who, text, second.Token),
		first.Event, later, second.Event)
	if fault := r.stale(second); fault != nil && first.Token != second.Token {
		check.Violations[len(check.Violations)-1].Unpromised = forgotten(fault)
	}
}
