package judge

import (
	"cmp"
	"fmt"
	"slices"

	"example.com/redlock/internal/history"
)

// Tokens is the check that fencing tokens are unique and grow.
const Tokens = "tokens"

// tokens looks at pairs of holds of a key: no two writers have one token, and a hold that was asked for
// after another was granted has a larger one, except that a reader may have the token of a writer before
// it, and readers need not be in order.
func tokens(r *record) Check {
	check := Check{Name: Tokens}
	if !r.Run.Tokens {
		return check
	}
	found := func(text string, first, second *history.Hold) {
		v := history.Violation{
			Check: Tokens, At: second.At,
			Text:   fmt.Sprintf("%s: %s has token %d, %s %s %d", second.Key(), first.Who, first.Token, second.Who, text, second.Token),
			Events: r.part(first.Event, second.By.Event, second.Event),
		}
		if fault := r.stale(second); fault != nil && first.Token != second.Token {
			v.Unpromised = forgotten(fault)
		}
		check.Violations = append(check.Violations, v)
	}
	for _, key := range r.keys {
		granted := r.byKey[key]
		check.Looked += len(granted)
		writers := map[int64]*history.Hold{}
		for _, hold := range granted {
			if hold.Shared {
				continue
			}
			if first := writers[hold.Token]; first != nil {
				found("has the same", first, hold)
			} else {
				writers[hold.Token] = hold
			}
		}
		var writer, largest *history.Hold // with the largest token so far
		asked := slices.SortedStableFunc(slices.Values(granted), func(a, b *history.Hold) int { return cmp.Compare(a.By.At, b.By.At) })
		for _, hold := range asked {
			for len(granted) > 0 && granted[0].At < hold.By.At {
				if largest == nil || granted[0].Token > largest.Token {
					largest = granted[0]
				}
				if !granted[0].Shared && (writer == nil || granted[0].Token > writer.Token) {
					writer = granted[0]
				}
				granted = granted[1:]
			}
			switch {
			case hold.Shared && writer != nil && writer.Token > hold.Token:
				found("asked later, to read, and has", writer, hold)
			case !hold.Shared && largest != nil && (largest.Token > hold.Token || largest.Shared && largest.Token == hold.Token):
				found("asked later, and has", largest, hold)
			}
		}
	}
	return check
}
