package main

import (
	"slices"

	"example.com/redlock/multilock/protocol"
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
	first  [maxCallers]bool   // the first round is among them
}

// forget makes room for the names of another state.
func (t *names) forget() {
	for c := range t.owners {
		t.owners[c], t.rounds[c], t.first[c] = t.owners[c][:0], 0, false
	}
	t.since, t.tokens = t.since[:0], t.tokens[:0]
}

// counts reports whether answers and hand-offs count for a contender.
func counts(p *protocol.Contender) bool {
	switch p.State {
	case protocol.Asking, protocol.Queued, protocol.Waiting, protocol.Minority:
		return true
	}
	return false
}

// active reports whether a contender has anything to remember.
func active(p *protocol.Contender) bool {
	return counts(p) || p.State == protocol.Settling || p.State == protocol.Won
}

// maxRounds is how many rounds a contender remembers.
const maxRounds = uint32(len(protocol.Contender{}.Rounds))
