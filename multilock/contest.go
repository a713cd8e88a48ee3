package multilock

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// contest drives a [protocol.Contender]: it turns answers, messages and timers into events, and
// effects into commands.
//
// Commands leave in the order of the steps that want them: a step appends to outbox, and
// whoever finds nobody flushing sends what is there. It holds no lock then, since a node may
// answer before its Send returns.
type contest struct {
	m       *Masters
	key     string
	began   clock.Instant // when the caller began to wait: its place in the queue
	entries int           // hold count to set, of a lock that is entered again
	decided chan struct{} // told when it is won, or has failed

	mu       sync.Mutex
	state    protocol.Contender
	owner    *script.Owner
	since    time.Time      // began by the masters' clocks; zero until they tell
	ballot   ballot         // the last answer of each master
	raises   ballot         // the last answer of each to a raise of the fencing counter
	split    *MajorityError // why the last try was lost, while it is Paused
	timer    *time.Timer    // for what is due next, once something is
	watching bool           // Redisson's channel
	closing  bool           // it makes no further try

	outbox   []message
	stock    *stock // to be told to the log
	flushing bool
	idle     sync.Cond // told when flushing ends
}

// message is a command on its way to the masters in at.
type message struct {
	cmd *script.Command
	at  Set
	to  node.Receiver
}

// newContest makes a contest for key. It begins with start or enterBy.
func (m *Masters) newContest(key string, want protocol.Want, began clock.Instant) *contest {
	c := &contest{
		m:       m,
		key:     key,
		began:   began,
		decided: make(chan struct{}, 1),
		state:   protocol.Contender{Want: want},
		ballot:  ballot{n: len(m.nodes)},
	}
	c.idle.L = &c.mu
	return c
}

// start asks all masters for the lock.
//
// Cost: one script call on each master.
func (c *contest) start() {
	c.mu.Lock()
	defer c.flush()
	if c.state.State != protocol.Idle {
		return // it was given up before it began
	}
	if c.owner == nil { // else it enters again
		c.owner = c.m.owners.make(c.key, c)
	}
	c.stepLocked(&protocol.Event{Kind: protocol.Start})
}

// step has ev happen, and sends what follows.
func (c *contest) step(ev *protocol.Event) {
	c.mu.Lock()
	c.stepLocked(ev)
	c.flush()
}

func (c *contest) stepLocked(ev *protocol.Event) {
	old := c.owner
	out := c.advanceLocked(ev)
	if out.NewOwner {
		c.owner = c.m.owners.make(c.key, c)
	}
	next, entry := c.roundLocked(&out)
	if out.Release != 0 {
		c.giveBackLocked(&out, old, next, entry)
	}
	if out.Ask != 0 {
		c.postLocked(c.commandLocked(out.Command, entry), out.Ask, next)
	}
	if out.Raise != 0 {
		c.raiseLocked(&out)
	}
}

// advanceLocked has ev happen. What it wants sent is left to the caller.
func (c *contest) advanceLocked(ev *protocol.Event) (out protocol.Effects) {
	now := clock.Now()
	ev.Trip, ev.Lot = c.m.RoundTrip(), rand.Uint32()
	ev.Placed = c.state.Want.Wait && c.placedLocked(ev.Kind)
	before := c.state.State
	c.state.Step(&c.m.conf, now, ev, &out)
	if out.Stock {
		c.takeStockLocked(out.Outage)
	}
	if at, ok := c.state.Wake(); ok {
		c.armLocked(now.Left(at))
	} else if c.timer != nil {
		c.timer.Stop()
	}
	switch c.state.State {
	case protocol.Won:
		c.tell()
	case protocol.Failed:
		if before != protocol.Failed && out.Release == 0 {
			c.forgetLocked()
		}
		c.unwatchLocked()
		c.tell()
	case protocol.Paused:
		if out.NewOwner {
			c.split = c.m.refused(c.key, &c.ballot, nil)
		}
		if c.closing {
			c.advanceLocked(&protocol.Event{Kind: protocol.GiveUp}) // nothing is left to release
		}
	}
	return out
}

// close has the contest make no further try: the client is closed.
func (c *contest) close() {
	c.mu.Lock()
	c.closing = true
	if c.state.State == protocol.Paused {
		c.stepLocked(&protocol.Event{Kind: protocol.GiveUp})
	}
	c.flush()
}

// forgetLocked forgets an owner that has nothing at any master.
func (c *contest) forgetLocked() {
	if c.owner != nil && !c.state.Want.Again {
		c.m.owners.forget(c.owner.ID)
	}
}

// tell wakes the caller.
func (c *contest) tell() {
	select {
	case c.decided <- struct{}{}:
	default:
	}
}

// placedLocked reports whether the contender has a place in the queue. It has none before the
// masters' clocks are known: one by our own might be before everybody, or after, for as long as
// it waits.
func (c *contest) placedLocked(kind protocol.Kind) bool {
	if c.since.IsZero() && kind != protocol.Answer {
		c.since = c.m.stamp(c.began)
	}
	return !c.since.IsZero()
}

// roundLocked makes the round that out wants, nil if it wants none, and what it says of the
// contender to the queue.
func (c *contest) roundLocked(out *protocol.Effects) (*round, script.QueueEntry) {
	if out.Ask == 0 && !out.Enter {
		return nil, script.QueueEntry{}
	}
	return &round{c: c, try: c.state.Try, number: out.Round}, script.QueueEntry{
		Round:    uint64(out.Round),
		Since:    micros(c.since),
		Lease:    out.Lease,
		Proposal: max(c.m.Now().UnixMicro(), out.Read+1),
	}
}

// giveBackLocked gives back what old has, as out says. The token of the release is at least what
// was proposed, so that the next one is above.
func (c *contest) giveBackLocked(out *protocol.Effects, old *script.Owner, next *round, entry script.QueueEntry) {
	claim := c.claimLocked(out, old)
	r := c.m.newReturn(claim, 0)
	var cmd *script.Command
	switch {
	case out.Yield:
		cmd = old.Yield(claim.since())
	case out.Enter:
		r.next = next
		cmd = old.ReleaseTo(claim.Token, claim.since(), c.owner, entry)
	default:
		cmd = claim.release()
	}
	c.postLocked(cmd, claim.At, r)
}

// claimLocked returns what out wants given back of what owner has.
func (c *contest) claimLocked(out *protocol.Effects, owner *script.Owner) Claim {
	return Claim{Owner: owner, Token: max(c.m.Now().UnixMicro(), out.Read), Since: c.since, At: out.Release}
}

// raiseLocked has masters raise their fencing counters.
func (c *contest) raiseLocked(out *protocol.Effects) {
	c.raises = ballot{n: len(c.m.nodes)}
	for i := range c.m.nodes {
		if !out.Raise.Has(i) {
			c.raises.put(i, script.Answer{Outcome: script.Done}) // it has the number
		}
	}
	cmd := c.owner.Raise(c.state.Want.Lease, out.RaiseTo)
	c.postLocked(cmd, out.Raise, &raise{c: c, try: c.state.Try, number: uint32(c.state.Raises)})
}

// postLocked has cmd sent by the next flush.
func (c *contest) postLocked(cmd *script.Command, at Set, to node.Receiver) {
	c.outbox = append(c.outbox, message{cmd, at, to})
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

// flush sends what is in the outbox, unless somebody else does. mu is held, and given up.
func (c *contest) flush() {
	for !c.flushing && (len(c.outbox) > 0 || c.stock != nil) {
		c.flushing = true
		messages, news := c.outbox, c.stock
		c.outbox, c.stock = nil, nil
		c.mu.Unlock()
		for _, msg := range messages {
			c.m.send(msg.cmd, msg.at, msg.to)
		}
		if news != nil {
			c.m.report(c.key, news.why)
		}
		c.mu.Lock()
		c.flushing = false
	}
	c.idle.Broadcast()
	c.mu.Unlock()
}

// armLocked has the contender look again after d.
func (c *contest) armLocked(d time.Duration) {
	if c.timer != nil {
		c.timer.Reset(d)
		return
	}
	c.timer = time.AfterFunc(d, func() { c.step(&protocol.Event{Kind: protocol.Due}) })
	if c.state.Want.Wait {
		c.m.subscribe()
	}
}

// handedOff counts a hand-off from master i.
func (c *contest) handedOff(i int, h script.HandOff) {
	c.mu.Lock()
	if h.Owner == c.owner.ID { // else its release was sent, and will free what was handed off
		c.stepLocked(&protocol.Event{
			Kind: protocol.HandedOff, Master: i, Try: c.state.Try, Round: uint32(h.Round), Token: h.Token,
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
	if r.try == c.state.Try && !c.state.Over() {
		c.ballot.put(i, a)
		c.watchLocked(a)
		c.stepLocked(&protocol.Event{
			Kind: protocol.Answer, Master: i, Try: r.try, Round: r.number,
			Outcome: outcome(a), Holder: holder(a), Left: a.Left, Token: a.Token,
			Hopeless: a.Err != nil && !node.Heals(a.Err),
		})
	}
	c.flush()
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
	if r.try == c.state.Try && r.number == uint32(c.state.Raises) {
		c.raises.put(i, a)
		c.stepLocked(&protocol.Event{
			Kind: protocol.Raised, Master: i, Try: r.try, Round: r.number, Outcome: outcome(a), Token: a.Token,
		})
	}
	c.flush()
}

// outcome is the outcome of a as the protocol has it: the two count alike.
func outcome(a script.Answer) protocol.Outcome { return protocol.Outcome(a.Outcome) }

var seed = maphash.MakeSeed()

// holder returns the number of the owner that a names.
func holder(a script.Answer) protocol.Holder {
	if a.Outcome != script.Refused || a.Holder == "" {
		return protocol.Nobody
	}
	return protocol.Holder(maphash.String(seed, a.Holder) | 1)
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}
