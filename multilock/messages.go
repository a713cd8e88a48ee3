package multilock

import (
	"hash/maphash"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
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
			Kind: protocol.HandedOff, Master: i, Try: c.state.Try, Round: uint32(round), Token: h.Token,
		})
	}
	c.flush()
}

// round takes the answers to one round of a contest.
type round struct {
	c      *contest
	try    uint32
	number uint32
	trace  *roundTrace // nil: it is not traced
}

// Answer implements [node.Receiver].
func (r *round) Answer(i int, a script.Answer) {
	c := r.c
	c.m.releaseStray(i, c.key, a)
	c.mu.Lock()
	if r.trace != nil {
		r.trace.voted(i, a)
	}
	if r.try == c.state.Try && !c.state.Over() {
		c.ballot.Put(i, a)
		c.watchLocked(a)
		c.stepLocked(&protocol.Event{
			Kind: protocol.Answer, Master: i, Try: r.try, Round: r.number,
			Outcome: outcome(a), Holder: c.m.holder(a), Left: a.Left, Ahead: a.Rank, Token: a.Token,
			Hopeless: a.Err != nil && !node.Heals(a.Err),
		})
	}
	waits := c.state.Want.Wait
	c.flush()
	if waits && a.Outcome == script.Refused && !c.slot {
		c.m.met(c.key, a.Holder)
	}
}

// entered takes what became of the release that entered the round into the queue of master i.
func (r *round) entered(i int, o script.Outcome) {
	r.c.step(&protocol.Event{Kind: protocol.Entered, Master: i, Try: r.try, Outcome: protocol.Outcome(o)})
}

// raise takes the answers to one raise of the fencing counter.
type raise round

// Take implements [poll.Taker].
func (r *raise) Take(_ *poll.Ballot, i int, a script.Answer) (settled bool, then func()) {
	return false, func() {
		c := r.c
		c.mu.Lock()
		if r.trace != nil {
			r.trace.voted(i, a)
		}
		if r.try == c.state.Try && r.number == uint32(c.state.Raises) {
			c.stepLocked(&protocol.Event{
				Kind: protocol.Raised, Master: i, Try: r.try, Round: r.number, Outcome: outcome(a), Token: a.Token,
			})
		}
		c.flush()
	}
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
	number &^= protocol.Ours | protocol.Keeps
	if m.Ours(a.Holder) {
		number |= protocol.Ours
	}
	if script.Keeps(a.Holder) {
		number |= protocol.Keeps
	}
	return number
}

// gather is how long the next round waits after a subscription began to work: those to the other
// masters will begin soon.
const gather = 20 * time.Millisecond

// met is told which owner keeps callers that wait from key.
func (m *Masters) met(key string, owner string) {
	if !m.Foreign(owner) {
		return
	}
	var kept time.Duration
	m.mu.Lock()
	n, now := m.names[key], clock.Now()
	if n != nil && n.blocker == owner {
		kept = now.Sub(n.since)
	} else if n != nil {
		n.blocker, n.since = owner, now
	}
	m.mu.Unlock()
	m.Blocked(key, owner, kept)
}

// subscriptions are what the masters publish to this client.
type subscriptions struct {
	mu    sync.Mutex
	begun bool
	work  Set // masters where they work
}

// subscribe begins to subscribe to what the masters publish to this client, unless that was done
// before. Contenders are told as soon as it works.
func (m *Masters) subscribe() {
	m.subs.mu.Lock() // until it is done: whoever calls it may watch a channel next
	defer m.subs.mu.Unlock()
	if m.subs.begun {
		return
	}
	m.subs.begun = true
	for i, n := range m.Nodes {
		n.Subscribe(m.ID, m, i)
	}
}

// canBeTold reports whether a majority of the masters can tell this client that they handed a lock
// off to it.
func (m *Masters) canBeTold() bool {
	m.subs.mu.Lock()
	defer m.subs.mu.Unlock()
	return m.Majority(m.subs.work.Len())
}

// HandedOff implements [node.Subscriber]. A lock that was handed off to an owner that has gone is
// released: the release that the owner sent should come after the hand-off, but may not at a master
// that does not let old connections be killed.
func (m *Masters) HandedOff(i int, h script.HandOff) {
	if m.Witness != nil {
		defer m.Witness.Message(i, h)()
	}
	c, known := m.owners.find(h.Owner)
	switch {
	case !known || c != nil && c.key != h.Key:
		m.Nodes[i].Send(script.ReleaseOfAny(h.Key, h.Owner, h.Token), poll.Nobody{}, i)
	case c != nil:
		c.handedOff(i, h)
	}
}

// Freed implements [node.Subscriber].
func (m *Masters) Freed(i int, key string) {
	if name, slot := script.SlotOf(key); slot >= 0 {
		m.mu.Lock()
		s := m.semaphores[script.Slots(name)]
		m.mu.Unlock()
		if s != nil {
			s.freed(i, slot)
		}
	}
	for _, c := range m.owners.contests() {
		if c.key == key {
			c.step(&protocol.Event{Kind: protocol.Hint, Delay: m.conf.Settle})
		}
	}
}

// Subscribed implements [node.Subscriber]. Messages may have been lost, and places in the queue as
// well, since nobody was there to be told.
func (m *Masters) Subscribed(i int, on bool) {
	m.subs.mu.Lock()
	m.subs.work &^= 1 << i
	if on {
		m.subs.work |= 1 << i
	}
	delay := gather
	if !on || m.subs.work == m.All() {
		delay = m.conf.Settle
	}
	m.subs.mu.Unlock()
	if !m.canBeTold() {
		m.recallDoubted(m.All())
	}
	for _, c := range m.owners.contests() {
		c.step(&protocol.Event{Kind: protocol.Hint, Delay: delay})
	}
}

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
		r.trace = c.trace.askedLocked(c, out)
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
	if c.state.Want.Keep {
		entry.Proposal += protocol.Range - 1
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
		c.postLocked(old.ReleaseTo(claim.Token, claim.since(), c.owner, entry), handOff, &r.poll)
		c.postLocked(old.YieldTo(claim.since(), c.owner, entry), yield, &r.poll)
	} else {
		c.postLocked(claim.release(), handOff, &r.poll)
		c.postLocked(old.Yield(claim.since()), yield, &r.poll)
	}
}

// claimLocked returns what out wants given back of what owner has.
func (c *contest) claimLocked(out *protocol.Effects, owner *script.Owner) Claim {
	return Claim{Owner: owner, Token: max(c.m.Now().UnixMicro(), out.Read), Since: c.since, At: out.Release}
}

// raiseLocked has masters raise their fencing counters.
func (c *contest) raiseLocked(out *protocol.Effects) {
	r := &raise{c: c, try: c.state.Try, number: uint32(c.state.Raises)}
	if c.trace != nil {
		r.trace = c.trace.raisingLocked(c, out)
	}
	b := poll.Ballot{N: len(c.m.Nodes)}
	for i := range c.m.Nodes {
		if !out.Raise.Has(i) {
			b.Put(i, script.Answer{Outcome: script.Done}) // it has the number
		}
	}
	p := poll.Taking(b, r)
	c.raises = &p
	c.postLocked(c.owner.Raise(c.state.Want.Lease, out.RaiseTo), out.Raise, c.raises)
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
			c.ballot = poll.Ballot{N: len(c.m.Nodes)} // each try is judged by its own answers
		}
		return c.owner.Acquire(lease, entry.Proposal)
	}
}

// flush sends what is in the outbox, unless somebody else does. The caller holds mu, which flush
// unlocks.
func (c *contest) flush() {
	for !c.flushing && (len(c.outbox) > 0 || c.stock != nil) {
		c.flushing = true
		messages, news, gathered := c.outbox, c.stock, c.gathered
		c.outbox, c.stock = nil, nil
		c.mu.Unlock()
		for _, msg := range messages {
			c.m.Deliver(msg.cmd, msg.at, msg.to, gathered)
		}
		if news != nil {
			c.m.report(c.line, news.why)
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
