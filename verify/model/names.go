package main

import (
	"slices"

	"example.com/redlock/multilock/attempt"
)

// Numbers that only tell things apart are renamed by rank before a state becomes a key: owners for
// each caller, places in the queue, and fencing tokens. Rounds are told by how long ago they were,
// and those that nothing names any more are forgotten.

// ranks are numbers in their order. Their ranks begin with 1.
type ranks []int64

func (r *ranks) add(v int64) {
	if i, found := slices.BinarySearch(*r, v); !found && v != 0 {
		*r = slices.Insert(*r, i, v)
	}
	if len(*r) >= 1<<5 {
		panic("model: too many names")
	}
}

// of returns the rank of a number, 0 if it has none.
func (r ranks) of(v int64) uint8 { return uint8(slices.Index(r, v) + 1) }

// spread is how far apart two tokens that follow one another are told to be at most. A counter that
// is further ahead of another is not overtaken by it within a few grants.
const spread = 4

// token is the number that stands for a token: the order stays, and so do small differences.
func (r ranks) token(v int64) uint8 {
	last, to := int64(0), int64(0)
	for _, x := range r {
		to += min(x-last, spread)
		last = x
		if x == v {
			return uint8(to)
		}
	}
	return 0
}

// names are those of a state.
type names struct {
	owners [maxCallers]ranks
	since  ranks
	tokens ranks
	rounds [maxCallers]uint16 // rounds of the current owner that are named, by how long ago
}

// forget makes room for the names of another state.
func (t *names) forget() {
	for c := range t.owners {
		t.owners[c], t.rounds[c] = t.owners[c][:0], 0
	}
	t.since, t.tokens = t.since[:0], t.tokens[:0]
}

// counts reports whether answers and hand-offs count for an attempt.
func counts(p *attempt.Attempt) bool {
	switch p.State {
	case attempt.Asking, attempt.Waiting, attempt.Minority:
		return true
	}
	return false
}

// has reports whether the client has the lock.
func has(p *attempt.Attempt) bool { return p.State == attempt.Held || p.State == attempt.Kept }

// maxRounds is how many rounds an attempt remembers.
const maxRounds = uint32(attempt.MaxRounds)
