package judge

import (
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/redlock/internal/history"
)

// step is what happens to a lock.
type step struct {
	kind stepKind
	id   int
	// rank is how many writers come before a take, by the tokens; -1 without tokens. Since all of them have
	// their place in the order, a writer's token is larger than all before exactly if so many came before;
	// and a reader's is no smaller than that of the writers before it, and smaller than that of those after.
	rank int
}

type stepKind int

const (
	takes stepKind = iota
	downgrades
	ends
)

// locked is the state of a lock.
type locked struct {
	writers int      // that have been in so far
	in      []inside // sorted by id
}

type inside struct {
	id     int
	shared bool
}

// fits reports whether there is an order of what the stays consist of.
func (r *record) fits(all []stay) porcupine.CheckResult {
	var tokens []int64 // of writers
	for _, s := range all {
		if !s.hold.Shared {
			tokens = append(tokens, s.hold.Token)
		}
	}
	slices.Sort(tokens)
	var steps []porcupine.Operation
	place := func(s step, from, to time.Duration) {
		steps = append(steps, porcupine.Operation{Input: s, Call: int64(from), Return: int64(to)})
	}
	for id, s := range all {
		rank := -1
		if r.Run.Tokens {
			below := s.hold.Token
			if s.hold.Shared {
				below++
			}
			rank, _ = slices.BinarySearch(tokens, below)
		}
		place(step{takes, id, rank}, s.from, s.hold.At)
		if s.valid == 0 {
			place(step{ends, id, 0}, s.from, s.hold.At)
			continue
		}
		if s.hold.Downgraded < s.valid {
			place(step{downgrades, id, 0}, s.hold.Downgraded, s.hold.Downgraded)
		}
		place(step{ends, id, 0}, s.valid, s.valid)
	}
	return porcupine.CheckOperationsTimeout(r.lock(all), steps, patience)
}

// lock is a lock as a sequential model.
func (r *record) lock(all []stay) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return locked{} },
		Step: func(before, input, _ any) (bool, any) {
			state, s := before.(locked), input.(step)
			i, in := slices.BinarySearchFunc(state.in, s.id, func(a inside, id int) int { return a.id - id })
			switch s.kind {
			case takes:
				hold := all[s.id].hold
				if s.rank >= 0 && s.rank != state.writers {
					return false, nil
				}
				for _, other := range state.in {
					if (!other.shared || !hold.Shared) && r.excuse(inOrder(all[other.id].hold, hold)) == nil {
						return false, nil
					}
				}
				if !hold.Shared {
					state.writers++
				}
				state.in = slices.Insert(slices.Clone(state.in), i, inside{s.id, hold.Shared})
			case downgrades:
				if !in {
					return false, nil
				}
				state.in = slices.Clone(state.in)
				state.in[i].shared = true
			case ends:
				if !in {
					return false, nil
				}
				state.in = slices.Delete(slices.Clone(state.in), i, i+1)
			}
			return true, state
		},
		// The state after the same steps is the same, in whichever order they were done.
		Equal: func(_, _ any) bool { return true },
	}
}

// inOrder returns two holds in the order in which they were granted.
func inOrder(a, b *history.Hold) (first, second *history.Hold) {
	if b.At < a.At {
		return b, a
	}
	return a, b
}
