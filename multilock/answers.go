package multilock

import (
	"hash/maphash"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// What comes back to a contest.

// handedOff counts a hand-off from master i. One to an owner that was given up is not counted: its release
// was sent, and will free what was handed off. One that names no round of the owner is forged, by somebody who
// may publish and knows no more than who waits.
func (c *contest) handedOff(i int, h script.HandOff) {
	c.mu.Lock()
	round := c.owner.Round(h)
	if h.Owner == c.owner.ID && round > 0 && round <= uint64(c.state.Round) {
		if c.trace != nil && !c.state.Over() {
			c.trace.handedOffLocked(c, i, int(round), h)
		}
		c.stepLocked(&protocol.Event{
			Kind: protocol.HandedOff, Master: i, Try: c.state.Try, Round: uint32(round), Token: h.Token, Slot: h.Slot,
		})
	}
	c.flush()
}

// round takes the answers to one round of a contest.
type round struct {
	c      *contest
	try    uint32
	number uint32
}

// Answer implements [node.Receiver].
func (r *round) Answer(i int, a script.Answer) {
	c := r.c
	c.m.releaseStray(i, c.key, a)
	c.mu.Lock()
	if c.trace != nil {
		c.trace.votedLocked(c, i, roundKey{try: r.try, number: r.number}, a)
	}
	if r.try == c.state.Try && !c.state.Over() {
		if a.Outcome == script.Refused && a.Holder != "" {
			a.Taken = c.state.Want.Permits
		}
		c.ballot.put(i, a)
		c.watchLocked(a)
		c.stepLocked(&protocol.Event{
			Kind: protocol.Answer, Master: i, Try: r.try, Round: r.number,
			Outcome: outcome(a), Holder: c.m.holder(a), Left: a.Left, Ahead: a.Rank, Token: a.Token, Slot: a.Slot,
			Hopeless: a.Err != nil && !node.Heals(a.Err),
		})
	}
	waits := c.state.Want.Wait
	c.flush()
	if waits && a.Outcome == script.Refused && a.Taken == 0 {
		c.m.met(c.target, a.Holder)
	}
}

// entered takes what became of the release that entered the round into the queue of master i.
func (r *round) entered(i int, o script.Outcome) {
	r.c.step(&protocol.Event{Kind: protocol.Entered, Master: i, Try: r.try, Outcome: protocol.Outcome(o)})
}

// raise takes the answers to one raise of the fencing counter.
type raise struct {
	c      *contest
	try    uint32
	number uint32
}

// Answer implements [node.Receiver].
func (r *raise) Answer(i int, a script.Answer) {
	c := r.c
	c.mu.Lock()
	if c.trace != nil {
		c.trace.votedLocked(c, i, roundKey{r.try, r.number, true}, a)
	}
	if r.try == c.state.Try && r.number == uint32(c.state.Raises) {
		c.raises.put(i, a)
		c.stepLocked(&protocol.Event{
			Kind: protocol.Raised, Master: i, Try: r.try, Round: r.number, Outcome: outcome(a), Token: a.Token,
		})
	}
	c.flush()
}

// outcome is the outcome of a as the protocol has it: both packages number outcomes alike.
func outcome(a script.Answer) protocol.Outcome { return protocol.Outcome(a.Outcome) }

var seed = maphash.MakeSeed()

// holder returns the number of the owner that a names.
func (m *Masters) holder(a script.Answer) protocol.Holder {
	if a.Outcome != script.Refused || a.Holder == "" {
		return protocol.Nobody
	}
	number := protocol.Holder(maphash.String(seed, a.Holder) | 1)
	if m.owners.ours(a.Holder) {
		return number | protocol.Ours
	}
	return number &^ protocol.Ours
}
