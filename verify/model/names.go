package main

import (
	"slices"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script/twin"
)

// Numbers that only tell things apart are renamed by rank before a state becomes a key: owners for
// each caller, places in the queue, and fencing tokens. Rounds are told by how long ago they were,
// and those that nothing names any more are forgotten.

// ranks renames numbers by rank, from 1.
type ranks struct {
	n    int
	list [32]int64
}

func (r *ranks) add(v int64) {
	if v == 0 || slices.Contains(r.list[:r.n], v) {
		return
	}
	if r.n == len(r.list) {
		panic("model: too many names")
	}
	i := r.n
	for ; i > 0 && r.list[i-1] > v; i-- {
		r.list[i] = r.list[i-1]
	}
	r.list[i] = v
	r.n++
}

func (r *ranks) of(v int64) uint8 {
	for i, x := range r.list[:r.n] {
		if x == v {
			return uint8(i + 1)
		}
	}
	return 0
}

// spread is how far apart two tokens that follow one another are told to be at most. A counter that
// is further ahead of another is not overtaken by it within a few grants.
const spread = 4

// token is the number that stands for a token: the order stays, and so do small differences.
func (r *ranks) token(v int64) uint8 {
	last, to := int64(0), int64(0)
	for _, x := range r.list[:r.n] {
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

// collect finds all names in a state.
func (t *names) collect(k *Case, w *World) {
	for c := range k.Callers {
		t.owners[c].n, t.rounds[c], t.first[c] = 0, 0, false
	}
	t.since.n, t.tokens.n = 0, 0
	t.tokens.add(w.Clock)
	for _, top := range w.Top.holds {
		t.tokens.add(top)
	}
	if k.Roles != "" {
		t.tokens.add(w.Top.writers)
	}
	for c := range k.Callers {
		p := &w.Callers[c]
		t.owners[c].add(int64(p.Last))
		if k.returns(c) || !p.gone() {
			t.since.add(p.Since)
		}
		t.contender(k, &p.Contender)
		if p.live() || p.Unsent {
			t.tokens.add(p.Token)
		}
	}
	for m := range k.Masters {
		t.kept(k, w, &w.Masters[m].kept)
		if w.Masters[m].Saved {
			t.kept(k, w, &w.Masters[m].Copy)
		}
	}
	for i := range w.Messages.len() {
		x := &w.Messages.list[i]
		t.owner(x.Owner)
		t.owner(x.Next)
		t.since.add(x.Since)
		t.since.add(x.Behind)
		t.tokens.add(x.Token)
		switch x.Kind {
		case ask:
			if x.Outcome == protocol.No {
				t.party(x.Holder)
			}
			t.round(w, x.Owner, x.Round)
		case handOff:
			t.round(w, x.Owner, x.Round)
		case release:
			t.round(w, x.Next, x.Round)
		}
	}
}

func (t *names) party(h protocol.Holder) {
	h &^= protocol.Keeps
	for h != protocol.Nobody {
		var o twin.Owner
		o, h = last(h)
		t.owner(o)
	}
}

func (t *names) owner(o twin.Owner) {
	if o != 0 && o != twin.Readers {
		t.owners[callerOf(o)].add(int64(numberOf(o)))
	}
}

// round notes that a round is named, if it may still count.
func (t *names) round(w *World, o twin.Owner, number uint32) {
	if o == 0 {
		return
	}
	c := callerOf(o)
	p := &w.Callers[c]
	if numberOf(o) != p.Last || !counts(&p.Contender) {
		return
	}
	if ago := p.Contender.Round - number; ago < maxRounds {
		t.rounds[c] |= 1 << ago
	}
	if number == 1 {
		t.first[c] = true
	}
}

func (t *names) kept(k *Case, w *World, p *kept) {
	var room [maxHolders]twin.Owner
	for _, o := range p.holders(k, room[:0]) {
		t.owner(o)
	}
	t.tokens.add(p.Lock.Counter)
	for i := range k.Permits {
		t.tokens.add(p.Slots.Slots[i].Counter)
	}
	l := p.line(k)
	for i := 0; i < len(l.Queue) && l.Queue[i].Owner != 0; i++ {
		e := &l.Queue[i]
		t.owner(e.Owner)
		t.since.add(e.Since)
		t.tokens.add(e.Proposal)
		t.round(w, e.Owner, e.Round)
	}
	for _, mark := range p.marks(k).Forced {
		t.owner(mark.Owner)
	}
}

func (t *names) contender(k *Case, p *protocol.Contender) {
	if !active(p) {
		return
	}
	t.tokens.add(p.Token)
	if p.State == protocol.Settling {
		t.tokens.add(p.RaiseTo)
	}
	for m := range k.Masters {
		t.tokens.add(p.Masters[m].Token)
		t.party(p.Masters[m].Holder)
	}
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
