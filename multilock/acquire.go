package multilock

import (
	"context"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Request says what to acquire.
type Request struct {
	Owner    *script.Owner // of NewOwner, unless Count is above 1
	Lease    time.Duration // whole milliseconds
	Count    int           // 1 takes a free lock, more enters a held one again
	Proposal int64         // fencing token; of a Count above 1 the one it has
}

func (r Request) command() *script.Command {
	if r.Count > 1 {
		return r.Owner.Enter(r.Lease, r.Count)
	}
	return r.Owner.Acquire(r.Lease, r.Proposal)
}

// Claim is what an owner has at the masters, or may have: grants, and entries in the queue.
type Claim struct {
	*script.Owner
	Token int64     // the largest fencing counter among the grants
	Since time.Time // its place in the queue, zero if it never waited
	At    Set       // the masters that may know of it
}

// Grant is what a majority granted.
type Grant struct {
	Claim
	Until clock.Instant // end of validity
	Short bool          // it was passed on: a renewal makes the lease the one asked for
}

// Attempt is an acquire under way.
type Attempt struct {
	poll
	m     *Masters
	req   Request
	start clock.Instant
}

// Acquire asks all masters at once to grant req, once. Wait must follow: it takes back
// what a lost vote left behind.
//
// Cost: one script call on each master, one round trip to the q-th fastest.
// Source: docs/algorithm.md, "Acquire".
func (m *Masters) Acquire(req Request) *Attempt {
	a := &Attempt{m: m, req: req, start: clock.Now()}
	if req.Count == 1 {
		m.enrol(req.Owner, nil)
	}
	a.init(nil, len(m.nodes), a)
	m.send(req.command(), m.All(), a)
	return a
}

// Wait returns the grant as soon as a majority granted and validity is left.
//
// Otherwise it sends a release to every master that may have granted, without waiting
// for it, and returns a [*MajorityError]: ErrTaken, ErrNoQuorum, or, for Count above 1,
// ErrLost when a majority no longer has the hold. If ctx ended first, it matches its
// error as well. A Count above 1 is left to the caller to take back, with [Masters.Release]: only he
// knows what it is by then.
func (a *Attempt) Wait(ctx context.Context) (Grant, error) {
	cut := a.wait(ctx)
	n := len(a.m.nodes)
	granted, refused, _ := a.tally()
	if quorum.Vote(n, granted, 0) == quorum.Won {
		until := deadline(a.start, a.req.Lease)
		if clock.Until(until) > 0 {
			grant := Grant{Claim: Claim{Owner: a.req.Owner, At: a.mayHold()}, Until: until}
			return a.settle(ctx, grant)
		}
		a.rollBack()
		return Grant{}, a.m.lost("lock", a.req.Owner.Key, &a.ballot, ErrNoQuorum, nil, errLate)
	}
	a.rollBack()
	if cut != nil {
		cut = Ended(ctx)
	}
	if a.req.Count > 1 && quorum.Vote(n, 0, refused) == quorum.Lost {
		return Grant{}, a.m.lost("lock", a.req.Owner.Key, &a.ballot, ErrLost, cut, nil)
	}
	return Grant{}, a.m.refused(a.req.Owner.Key, &a.ballot, cut)
}

// settle gives a grant its fencing token. Validity goes on to run out meanwhile.
func (a *Attempt) settle(ctx context.Context, g Grant) (Grant, error) {
	if a.req.Count > 1 {
		g.Token = a.req.Proposal
		return g, nil
	}
	tokens := make([]int64, len(a.m.nodes))
	for i, answer := range a.answers {
		if a.in.has(i) {
			tokens[i] = answer.Token
		}
	}
	token, b, cut := a.m.agree(ctx, g.Owner, a.req.Lease, tokens, 0)
	if b == nil && clock.Until(g.Until) > 0 {
		g.Token = token
		return g, nil
	}
	a.rollBack()
	if b == nil {
		return Grant{}, a.m.lost("lock", g.Key, &a.ballot, ErrNoQuorum, nil, errLate)
	}
	if cut != nil {
		cut = Ended(ctx)
	}
	return Grant{}, a.m.lost("lock", g.Key, b, ErrNoQuorum, cut, errTokens)
}

// Answer implements [node.Receiver].
func (a *Attempt) Answer(i int, answer script.Answer) {
	a.m.meet(i, a.req.Owner.Key, answer)
	a.poll.Answer(i, answer)
}

// decided reports whether no further answer can change the outcome. A lost vote waits
// for more answers while they can tell a lock that is taken from one that nobody got.
func (a *Attempt) decided() bool {
	granted, refused, failed := a.tally()
	switch quorum.Vote(len(a.m.nodes), granted, refused+failed) {
	case quorum.Won:
		return true
	case quorum.Lost:
		return quorum.Judge(len(a.m.nodes), granted, failed, a.holders()) != quorum.Undecided
	}
	return false
}

func (a *Attempt) token() int64 {
	var token int64
	for i, answer := range a.answers {
		if a.in.has(i) {
			token = max(token, answer.Token)
		}
	}
	return token
}

// mayHold returns the masters that granted, may have done so, or still may do so. What
// is unknown is not a no: a frozen master grants when it thaws.
func (a *Attempt) mayHold() Set {
	at := a.m.All()
	for i, answer := range a.answers {
		if a.in.has(i) && !answer.Outcome.MayHold() {
			at &^= 1 << i
		}
	}
	return at
}

// rollBack takes the attempt at a free lock back wherever it may have succeeded. It needs no
// context: sending does not block, and the nodes see to it that each master gets it.
func (a *Attempt) rollBack() {
	if a.req.Count > 1 {
		return
	}
	a.m.Release(Claim{Owner: a.req.Owner, Token: max(a.req.Proposal, a.token()), At: a.mayHold()}, 0)
}
