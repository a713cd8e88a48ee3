package judge

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/redlock/internal/history"
)

const (
	segmentSize    = 5000 // accesses that are looked at together, at least: what porcupine needs grows by the square
	segmentOverlap = 100  // of them also in the next, at most
)

// segments cuts accesses, which are in the order of their calls, where none was under way.
func segments(all []access) [][]access {
	var cuts []int // an access begins there, and all before it are over
	var ends time.Duration
	for i, a := range all {
		if a.call.At > ends {
			cuts = append(cuts, i)
		}
		ends = max(ends, a.ends)
	}
	var parts [][]access
	for from := 0; ; {
		i, _ := slices.BinarySearch(cuts, from+segmentSize)
		if i == len(cuts) {
			return append(parts, all[from:])
		}
		parts = append(parts, all[from:cuts[i]])
		i, _ = slices.BinarySearch(cuts, cuts[i]-segmentOverlap)
		from = cuts[i]
	}
}

// cell is the state of a register.
type cell struct {
	token, value           int64 // 0 where they are not known
	tokenKnown, valueKnown bool  // not so where a segment begins, until something tells
}

// cells is a fenced register as a sequential model. It is empty at first, or holds nobody knows what.
func cells(empty bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return cell{tokenKnown: empty, valueKnown: empty} },
		Step: func(before, input, _ any) (bool, any) {
			state, a := before.(cell), input.(access)
			old := a.call.Token < state.token
			write := cell{a.call.Token, a.call.Value, true, true}
			switch a.outcome {
			case accepted:
				return !old, write
			case refused:
				return old || !state.tokenKnown, state
			case lawless:
				state.value, state.valueKnown = a.call.Value, true
				return true, state
			case unknown:
				if old {
					return true, state
				}
				return true, write
			default:
				if state.valueKnown {
					return a.call.Result.Value == state.value, state
				}
				state.value, state.valueKnown = a.call.Result.Value, true
				return true, state
			}
		},
		Hash: func(state any) uint64 { return uint64(state.(cell).token)*31 + uint64(state.(cell).value) },
	}
}

// consistent asks porcupine whether a register could have told this.
func consistent(some []access, empty bool) porcupine.CheckResult {
	var steps []porcupine.Operation
	for _, a := range some {
		steps = append(steps, porcupine.Operation{Input: a, Call: int64(a.call.At), Return: int64(a.ends)})
	}
	return porcupine.CheckOperationsTimeout(cells(empty), steps, patience)
}

// misread returns what clients were told of a register that it could not tell.
func (r *record) misread(name string, some []access, empty bool) []history.Violation {
	var violations []history.Violation
	for range maxPerWindow {
		switch consistent(some, empty) {
		case porcupine.Ok:
			return violations
		case porcupine.Unknown:
			return append(violations, undecided(Register, name, some[0].call.Event))
		}
		before := untilWrong(some, empty)
		wrong := before[len(before)-1]
		violations = append(violations, r.wrongAccess(name, wrong, shortestProof(before, empty)))
		// Go on with what follows from it.
		i := slices.IndexFunc(some, func(a access) bool { return a.call == wrong.call })
		some = slices.Clone(some)
		if wrong.outcome == accepted {
			some[i].outcome = lawless
		} else {
			some = slices.Delete(some, i, i+1)
		}
	}
	return append(violations, undecided(Register, name, some[0].call.Event))
}

// untilWrong returns the accesses up to the first answer that is wrong, which comes last. Of writes that were
// under way then, nobody knows the outcome yet.
func untilWrong(some []access, empty bool) []access {
	answers := slices.SortedFunc(slices.Values(some), func(a, b access) int { return cmp.Compare(a.ends, b.ends) })
	upTo := func(last access) []access {
		var known []access
		for _, a := range some {
			switch {
			case a.call.At > last.ends || a.call == last.call:
			case a.ends <= last.ends:
				known = append(known, a)
			case a.outcome == accepted:
				a.outcome = unknown
				fallthrough
			case a.outcome == unknown:
				a.ends = history.Never
				known = append(known, a)
			}
		}
		return append(known, last)
	}
	i := sort.Search(len(answers), func(i int) bool { return consistent(upTo(answers[i]), empty) != porcupine.Ok })
	return upTo(answers[min(i, len(answers)-1)])
}

// shortestProof returns as few of the accesses as show that the last is wrong: with it those without which
// it would be wrong anyhow, such as the write of the value that it read, and one more if needed.
func shortestProof(some []access, empty bool) []access {
	wrong := some[len(some)-1]
	needs := func(a access) []access {
		part := []access{a}
		for _, other := range some {
			wrote := other.outcome != read && other.outcome != refused
			if wrote && (a.outcome == read && other.call.Value == a.call.Result.Value || a.outcome == refused && other.call.Token > a.call.Token) {
				part = append(part, other)
			}
		}
		return part
	}
	part := needs(wrong)
	if consistent(part, empty) == porcupine.Illegal {
		return part
	}
	for _, other := range slices.Backward(some) {
		if slices.ContainsFunc(part, func(a access) bool { return a.call == other.call }) {
			continue
		}
		longer := append(slices.Clone(part), other)
		if other.outcome == read || other.outcome == refused {
			longer = append(slices.Clone(part), needs(other)...)
		}
		if consistent(longer, empty) == porcupine.Illegal {
			return longer
		}
	}
	return some
}

// wrongAccess tells of an answer that a register could not give.
func (r *record) wrongAccess(name string, wrong access, part []access) history.Violation {
	call := wrong.call
	var what string
	switch wrong.outcome {
	case read:
		what = fmt.Sprintf("read %d", call.Result.Value)
	case accepted:
		what = fmt.Sprintf("wrote %d with token %d", call.Value, call.Token)
	case refused:
		what = fmt.Sprintf("was refused with token %d", call.Token)
	default:
		what = fmt.Sprintf("may have written %d with token %d", call.Value, call.Token)
	}
	v := history.Violation{
		Check: Register, At: wrong.ends,
		Text: fmt.Sprintf("%s: %s %s, which no order of the accesses allows", name, call.Who, what),
	}
	var events []history.Event
	for _, a := range part {
		events = append(events, a.call.Event)
		if a.call.Result != nil && a.ends <= wrong.ends {
			events = append(events, *a.call.Result)
		}
	}
	v.Events = r.part(events...)
	return v
}
