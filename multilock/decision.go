package multilock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// How a contest ends.

var (
	errUnconfirmed = poll.Case(poll.ErrNoQuorum, "redlock: too few masters confirmed, the release goes on in the background")
	errLeft        = poll.Case(poll.ErrNoQuorum, "redlock: too few masters confirmed, and those that refused the release are not asked again: it ends with its lease there")
	errLate        = errors.New("granted, but too late: the lease was used up")
	errTokens      = errors.New("agreed on a fencing token, too few others did")
)

// Claim is what an owner has at the masters, or may have: grants, and entries in the queue.
type Claim struct {
	*script.Owner
	Token int64     // no fencing token of it is larger
	Since time.Time // its place in the queue, zero if it never waited
	At    Set       // the masters that may know of it

	trace *holdTrace // of a hold, nil: it is not traced
}

// since returns the claim's place in the queue as the masters have it.
func (c *Claim) since() int64 { return micros(c.Since) }

// release returns the command that gives it back.
func (c *Claim) release() *script.Command { return c.Release(c.Token, c.since()) }

// Grant is what a majority granted.
type Grant struct {
	Claim
	First int64         // fencing token of the first hold that comes of it, at most Token
	Until clock.Instant // end of validity
	Short bool          // a renewal is due soon: it was handed off for a short lease

	// What the contest is still sending, nil if everything is sent: a round goes to one master after
	// the other, and the first answers may have decided before it went to the last. The release of
	// the hold must come after it.
	sending *contest

	kept *kept // that it was taken over from, nil if it was won
}

// take takes what was won, if validity is left. Otherwise the contest goes on, or has failed.
func (c *contest) take() (g Grant, ok bool) {
	c.mu.Lock()
	defer c.flush()
	return c.takeLocked()
}

func (c *contest) takeLocked() (g Grant, ok bool) {
	if c.state.State == protocol.Won {
		c.stepLocked(&protocol.Event{Kind: protocol.Take})
	}
	if c.state.State != protocol.Taken {
		return g, false
	}
	c.unwatchLocked()
	c.m.owners.decided(c.owner.ID, c)
	g = Grant{
		Claim: Claim{Owner: c.owner, Token: c.state.Token, Since: c.since, At: c.state.Claimed()},
		First: c.state.First(),
		Until: c.state.Until,
		Short: c.state.Short,
	}
	if c.flushing {
		g.sending = c
	}
	return g, true
}

// conclude takes what a try has won that does not wait, or gives it up and says why: with a
// [*poll.MajorityError], or ErrClosed. cut is the error of a context that has ended.
func (c *contest) conclude(cut error) (Grant, error) {
	c.mu.Lock()
	g, ok := c.takeLocked()
	if ok {
		c.flush()
		return g, nil
	}
	why := c.reasonLocked(cut)
	c.stepLocked(&protocol.Event{Kind: protocol.GiveUp})
	c.flush()
	c.drain()
	if why == nil {
		return g, poll.ErrClosed // it was given up while it paused
	}
	return g, why
}

// drain waits until everything in the outbox is sent.
func (c *contest) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.flushing {
		c.idle.Wait()
	}
}

// giveUp ends a contest that was not won: it leaves the queue and gives back what votes it has, in
// the background. next, if there is one, enters the queue in the same script call. It returns
// once all is sent.
//
// Cost: one script call on each master.
func (c *contest) giveUp(next *contest) {
	c.mu.Lock()
	out := c.advanceLocked(&protocol.Event{Kind: protocol.GiveUp})
	claim := c.claimLocked(&out, c.owner)
	c.flush()
	c.drain()
	switch {
	case claim.At != 0:
		c.m.releaseTo(claim, next)
	case next != nil:
		next.start()
	}
}

// releaseTo releases all that is claimed. next, if there is one, enters the queue in the same
// script call, and everywhere else.
func (m *Masters) releaseTo(claim Claim, next *contest) *Return {
	if next == nil {
		return m.release(claim, 0)
	}
	return next.enterBy(claim)
}

// enterBy has the release of claim enter the contest into the queue of the masters. If it has begun by
// itself, or was given up, only the release is sent.
//
// Cost: one script call on each master.
func (c *contest) enterBy(claim Claim) *Return {
	c.mu.Lock()
	defer c.flush()
	r := c.m.newReturn(claim, 0)
	if c.state.State != protocol.Idle {
		c.postLocked(claim.release(), claim.At, &r.poll)
		return r
	}
	if c.owner == nil { // else it was started with a delay
		c.owner = c.newOwnerLocked()
	}
	out := c.advanceLocked(&protocol.Event{Kind: protocol.Enter, At: claim.At})
	next, entry := c.roundLocked(&out)
	r.next = next
	c.postLocked(claim.ReleaseTo(claim.Token, claim.since(), c.owner, entry), claim.At, &r.poll)
	if out.Ask != 0 {
		c.postLocked(c.commandLocked(out.Command, entry), out.Ask, next)
	}
	return r
}

// reason returns why the contest has not been won, by what each master said last: nil if that is
// not known, or it was won. cut is the context error of a wait that was cut short; with it, masters
// that have not answered are a reason too.
func (c *contest) reason(cut error) *poll.MajorityError {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reasonLocked(cut)
}

func (c *contest) reasonLocked(cut error) *poll.MajorityError {
	m, s := c.m, &c.state
	switch {
	case s.Verdict == protocol.GivenUp:
		return nil
	case s.State == protocol.Idle, s.State == protocol.Queued, s.State == protocol.Won, s.State == protocol.Taken:
		return nil
	case s.State == protocol.Asking && cut == nil:
		return nil
	case s.State == protocol.Paused:
		if cut != nil {
			return c.split.With(cut)
		}
		return c.split
	case c.raises != nil && (s.State == protocol.Settling && !s.Want.Wait || s.Verdict == protocol.NoToken):
		return c.lostLocked(c.raises.Ballot(), poll.ErrNoQuorum, cut, errTokens)
	case s.Verdict == protocol.Late:
		return c.lostLocked(&c.ballot, poll.ErrNoQuorum, cut, c.late())
	case s.Verdict == protocol.Gone:
		return c.lostLocked(&c.ballot, poll.ErrLost, cut, nil)
	}
	if granted, _, _ := c.ballot.Tally(); m.Majority(granted) && c.tooShort() {
		return c.lostLocked(&c.ballot, poll.ErrNoQuorum, cut, c.late())
	}
	if s.Want.Again { // its owner has the lock: another that a minority names is no reason
		return c.lostLocked(&c.ballot, poll.ErrNoQuorum, cut, nil)
	}
	return c.refusedLocked(cut)
}

// lostLocked is [poll.Masters.Lost] for the contest.
func (c *contest) lostLocked(b *poll.Ballot, state, cut, late error) *poll.MajorityError {
	op, name := called(c.key)
	return c.m.Lost(op, name, b, state, cut, late)
}

// refusedLocked is [poll.Masters.Refused] for what the masters said last. An owner of one slot does not have the
// semaphore.
func (c *contest) refusedLocked(cut error) *poll.MajorityError {
	op, name := called(c.key)
	why := c.m.Refused(op, name, &c.ballot, cut)
	if c.slot {
		why.Holder = ""
	}
	return why
}

// tooShort reports whether the lease is used up before the masters' answers come.
func (c *contest) tooShort() bool { return protocol.TooShort(c.state.Want.Lease, c.m.RoundTrip()) }

// late says why a grant came too late.
func (c *contest) late() error {
	if !c.tooShort() {
		return errLate
	}
	return fmt.Errorf("%w: %v is too short for a round trip, which takes up to %v", errLate, c.state.Want.Lease, c.m.RoundTrip().Round(time.Millisecond))
}

// watchLocked asks to be told when the lock is free, if one of Redisson's clients has it: their
// releases hand it off to nobody.
func (c *contest) watchLocked(a script.Answer) {
	if c.watching || !c.state.Want.Wait || a.Outcome != script.Refused || a.Holder == "" || a.Holder == script.SharedHolder || clients.Of(a.Holder) != "" {
		return
	}
	c.watching = true
	c.m.subscribe()
	for _, n := range c.m.Nodes {
		n.Watch(c.key)
	}
}

// unwatchLocked undoes watchLocked.
func (c *contest) unwatchLocked() {
	if !c.watching {
		return
	}
	c.watching = false
	for _, n := range c.m.Nodes {
		n.Unwatch(c.key)
	}
}

// Return is a release under way. It goes on, whether or not anybody waits.
type Return struct {
	m     *Masters
	claim Claim
	keep  int    // hold count that is kept
	next  *round // that entered the queue by it, nil if none did

	poll poll.Poll
}

// release sets the hold count of a claim to keep. When that is 0, it frees the lock on each
// master that may have it, and takes the owner out of the queue; the first in the queue then has
// the lock. Each node repeats it until its master has answered.
//
// Cost: one script call on each master. Source: docs/how-it-works.md, "Release".
func (m *Masters) release(claim Claim, keep int) *Return {
	r := m.newReturn(claim, keep)
	if keep > 0 {
		m.Send(claim.Leave(keep), claim.At, &r.poll)
	} else {
		m.Send(claim.release(), claim.At, &r.poll)
	}
	return r
}

// newReturn makes a release that is to be sent to the masters in claim.At. The others are known not
// to have the lock.
func (m *Masters) newReturn(claim Claim, keep int) *Return {
	r := &Return{m: m, claim: claim, keep: keep}
	r.poll = poll.Taking(poll.Ballot{N: len(m.Nodes)}, r)
	for i := range m.Nodes {
		if !claim.At.Has(i) {
			r.poll.Answer(i, script.Answer{Outcome: script.Refused})
		}
	}
	return r
}

// Take implements [poll.Taker].
func (r *Return) Take(b *poll.Ballot, i int, a script.Answer) (settled bool, then func()) {
	before := *b
	before.In &^= 1 << i
	if r.keep == 0 && b.In == r.m.All() {
		r.m.owners.forget(r.claim.ID)
	}
	settled = r.over(b)
	if t := r.claim.trace; t != nil && r.keep == 0 && settled && !r.over(&before) {
		t.released(r, r.result(b, nil))
	}
	if o := a.Outcome; r.next != nil { // a would be moved to the heap
		then = func() { r.next.entered(i, o) }
	}
	return settled, then
}

// returned counts the answers to a release.
func returned(b *poll.Ballot) (s protocol.Return) {
	for i := range b.N {
		if b.In.Has(i) {
			s.Step(i, outcome(b.At(i)))
		}
	}
	return s
}

func (r *Return) over(b *poll.Ballot) bool {
	s := returned(b)
	return s.Over(&r.m.conf)
}

// Wait returns nil once a majority of the masters is known not to have the hold, unless
// so many of them lacked it before that somebody else may have had the lock: ErrLost.
//
// ErrNoQuorum says that too few answered: the release is repeated in the background. If
// ctx ended first, the error matches ctx's.
func (r *Return) Wait(ctx context.Context) error { return r.result(r.poll.Wait(ctx)) }

// refused reports whether every master has answered, and those that did not confirm the release have refused
// it for good.
func refused(b *poll.Ballot) bool {
	for i := range b.N {
		a := b.At(i)
		if !b.In.Has(i) || a.Outcome == script.Unsent || a.Outcome == script.Unknown || node.Resends(a.Err) {
			return false
		}
	}
	return true
}

// result returns what Wait does, for the answers that have come. cut is the error of a context that ended first.
func (r *Return) result(b *poll.Ballot, cut error) error {
	s, state := returned(b), errUnconfirmed
	switch {
	case s.Lost(&r.m.conf) == quorum.Won:
		state = poll.ErrLost
	case s.Free(&r.m.conf):
		return nil
	case cut != nil:
		state = poll.ErrNotAwaited
	case refused(b):
		state = errLeft
	}
	_, name := called(r.claim.Key)
	return r.m.Lost("unlock", name, b, state, cut, nil)
}
