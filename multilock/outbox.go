package multilock

import (
	"time"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// What a contest sends.

// message is a command on its way to the masters in at.
type message struct {
	cmd *script.Command
	at  Set
	to  node.Receiver
}

// roundLocked makes the round that out wants, nil if it wants none, and what it says of the
// contender to the queue.
func (c *contest) roundLocked(out *protocol.Effects) (*round, script.QueueEntry) {
	if out.Ask == 0 && !out.Enter {
		return nil, script.QueueEntry{}
	}
	r := &c.firstRound
	if out.Round > 1 {
		r = new(round)
	}
	*r = round{c: c, try: c.state.Try, number: out.Round}
	if c.trace != nil {
		c.trace.askedLocked(c, out)
	}
	entry := script.QueueEntry{
		Round:    uint64(out.Round),
		Since:    micros(c.since),
		Lease:    out.Lease,
		Proposal: c.m.Now().UnixMicro(),
		Polls:    out.Polls,
	}
	if out.Read < script.MaxToken { // or the master that said so would have the last word
		entry.Proposal = max(entry.Proposal, out.Read+1)
	}
	return r, entry
}

// giveBackLocked gives back what old has, as out says. The token of the release is at least what
// was proposed, so that the next token is larger.
func (c *contest) giveBackLocked(out *protocol.Effects, old *script.Owner, next *round, entry script.QueueEntry) {
	claim := c.claimLocked(out, old)
	r := c.m.newReturn(claim, 0)
	handOff, yield := claim.At&^out.Yield, out.Yield
	if out.Enter {
		r.next = next
		c.postLocked(old.ReleaseTo(claim.Token, claim.since(), c.owner, entry), handOff, r)
		c.postLocked(old.YieldTo(claim.since(), c.owner, entry), yield, r)
	} else {
		c.postLocked(claim.release(), handOff, r)
		c.postLocked(old.Yield(claim.since()), yield, r)
	}
}

// claimLocked returns what out wants given back of what owner has.
func (c *contest) claimLocked(out *protocol.Effects, owner *script.Owner) Claim {
	return Claim{Owner: owner, Token: max(c.m.Now().UnixMicro(), out.Read), Since: c.since, At: out.Release}
}

// raiseLocked has masters raise their fencing counters.
func (c *contest) raiseLocked(out *protocol.Effects) {
	c.raises = ballot{n: len(c.m.nodes)}
	if c.trace != nil {
		c.trace.raisingLocked(c, out)
	}
	for i := range c.m.nodes {
		if !out.Raise.Has(i) {
			c.raises.put(i, script.Answer{Outcome: script.Done}) // it has the number
		}
	}
	cmd := c.winnerLocked().Raise(c.state.Want.Lease, out.RaiseTo)
	c.postLocked(cmd, out.Raise, &raise{c: c, try: c.state.Try, number: uint32(c.state.Raises)})
}

// postLocked puts cmd into the outbox, for the next flush.
func (c *contest) postLocked(cmd *script.Command, at Set, to node.Receiver) {
	if at != 0 {
		c.outbox = append(c.outbox, message{cmd, at, to})
	}
}

// commandLocked returns what a round sends.
func (c *contest) commandLocked(command protocol.Command, entry script.QueueEntry) *script.Command {
	switch lease := c.state.Want.Lease; command {
	case protocol.AskOrQueue:
		return c.owner.AcquireOrRegister(lease, entry)
	case protocol.QueueOnly:
		return c.owner.Register(entry)
	case protocol.EnterAgain:
		return c.owner.Enter(lease, c.entries)
	default:
		if !c.state.Want.Wait {
			c.ballot = ballot{n: len(c.m.nodes)} // each try is judged by its own answers
		}
		return c.owner.Acquire(lease, entry.Proposal)
	}
}

// flush sends what is in the outbox, unless somebody else does. The caller holds mu, which flush
// unlocks.
func (c *contest) flush() {
	for !c.flushing && (len(c.outbox) > 0 || c.stock != nil) {
		c.flushing = true
		messages, news, together := c.outbox, c.stock, c.together
		c.outbox, c.stock = nil, nil
		c.mu.Unlock()
		for _, msg := range messages {
			c.m.deliver(msg.cmd, msg.at, msg.to, together)
		}
		if news != nil {
			c.m.report(c.target, news.why)
		}
		c.mu.Lock()
		c.flushing = false
	}
	c.idle.Broadcast()
	c.mu.Unlock()
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
