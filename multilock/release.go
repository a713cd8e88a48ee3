package multilock

import (
	"context"
	"sync/atomic"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Return is a release under way. It goes on, whether or not anybody waits.
type Return struct {
	poll
	m     *Masters
	claim Claim
	keep  int
	next  *ask             // that entered the queue by it, nil if none did
	open  atomic.Int32     // answers still to come
	room  [5]script.Answer // for answers
}

// Release sets the hold count of a claim to keep. When that is 0, it frees the lock on
// each master that may have it, and takes the owner out of the queue; the first in the
// queue then has the lock. Each node repeats it until its master has answered.
//
// Cost: one script call on each master. Source: docs/algorithm.md, "Release".
func (m *Masters) Release(c Claim, keep int) *Return {
	if keep > 0 {
		return m.release(c.Owner.Leave(keep), c, keep, nil)
	}
	return m.release(c.Owner.Release(c.Token, c.since()), c, 0, nil)
}

// ReleaseTo is Release of all that is claimed. It enters next into the queue in the same
// script call, and everywhere else.
func (m *Masters) ReleaseTo(c Claim, next *Bid) *Return {
	next.sending.Lock()
	defer next.sending.Unlock()
	return m.releaseTo(c, next)
}

// releaseTo is ReleaseTo. next.sending is held.
func (m *Masters) releaseTo(c Claim, next *Bid) *Return {
	next.mu.Lock()
	if next.over || !next.place() {
		next.signal()
		next.mu.Unlock()
		return m.Release(c, 0)
	}
	rest := m.All() &^ c.At
	a := next.newAsk(rest)
	a.partial = true // where the hold was, the answers are those of the release
	next.entered = true
	for i := range next.seats {
		if c.At.has(i) {
			next.seats[i].open++ // see ask.entered
		}
	}
	next.signal()
	next.mu.Unlock()
	r := m.release(c.Owner.ReleaseTo(c.Token, c.since(), a.owner, a.entry()), c, 0, a)
	a.send(rest)
	return r
}

// since returns the claim's place in the queue as the masters have it.
func (c *Claim) since() int64 {
	if c.Since.IsZero() {
		return 0
	}
	return c.Since.UnixMicro()
}

func (m *Masters) release(cmd *script.Command, c Claim, keep int, next *ask) *Return {
	r := &Return{m: m, claim: c, keep: keep, next: next}
	r.open.Store(int32(len(m.nodes)))
	r.init(r.room[:0], len(m.nodes), r)
	for i := range m.nodes {
		if !c.At.has(i) {
			r.Answer(i, script.Answer{Outcome: script.Refused}) // known not to have it
		}
	}
	m.send(cmd, c.At, r)
	return r
}

// Answer implements [node.Receiver].
func (r *Return) Answer(i int, a script.Answer) {
	if r.next != nil && r.claim.At.has(i) {
		r.next.entered(i, a.Outcome)
	}
	if r.open.Add(-1) == 0 && r.keep == 0 {
		r.m.forget(r.claim.ID)
	}
	r.poll.Answer(i, a)
}

// Wait returns nil once a majority of the masters is known not to have the hold, unless
// so many of them lacked it before that somebody else may have had the lock: ErrLost.
//
// ErrNoQuorum says that too few answered: the release is repeated in the background. If
// ctx ended first, the error matches ctx's.
func (r *Return) Wait(ctx context.Context) error {
	cut := r.wait(ctx)
	state := errUnconfirmed
	if cut != nil {
		state = errNotAwaited
	}
	switch freed, lacked, _ := r.tally(); {
	case r.another(freed, lacked) == quorum.Won:
		state = ErrLost
	case r.free(freed, lacked):
		return nil
	}
	if cut != nil {
		cut = Ended(ctx)
	}
	return r.m.lost("unlock", r.claim.Key, &r.ballot, state, cut, nil)
}

func (r *Return) decided() bool {
	freed, lacked, _ := r.tally()
	switch r.another(freed, lacked) {
	case quorum.Won:
		return true
	case quorum.Lost:
		return r.free(freed, lacked)
	}
	return false
}

// another is the vote that somebody else may have won meanwhile: the masters that lacked
// our hold may have been his, those that freed it just now were ours until then.
func (r *Return) another(freed, lacked int) quorum.Result {
	return quorum.Vote(len(r.m.nodes), lacked, freed)
}

// free reports whether a majority is known not to have the hold any more.
func (r *Return) free(freed, lacked int) bool {
	return quorum.Vote(len(r.m.nodes), freed+lacked, 0) == quorum.Won
}
