package multilock

import (
	"context"
	"sync"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Return is a release under way. It goes on, whether or not anybody waits.
type Return struct {
	m     *Masters
	claim Claim
	keep  int    // hold count that is kept
	next  *round // that entered the queue by it, nil if none did

	mu     sync.Mutex
	state  protocol.Return
	ballot ballot
	over   bool
	done   chan struct{} // closed when over
}

// release sets the hold count of a claim to keep. When that is 0, it frees the lock on each
// master that may have it, and takes the owner out of the queue; the first in the queue then has
// the lock. Each node repeats it until its master has answered.
//
// Cost: one script call on each master. Source: docs/algorithm.md, "Release".
func (m *Masters) release(claim Claim, keep int) *Return {
	r := m.newReturn(claim, keep)
	if keep > 0 {
		m.send(claim.Leave(keep), claim.At, r)
	} else {
		m.send(claim.release(), claim.At, r)
	}
	return r
}

// newReturn makes a release that is to be sent to the masters in claim.At. The others are known not
// to have the lock.
func (m *Masters) newReturn(claim Claim, keep int) *Return {
	r := &Return{m: m, claim: claim, keep: keep, ballot: ballot{n: len(m.nodes)}, done: make(chan struct{})}
	for i := range m.nodes {
		if !claim.At.Has(i) {
			r.count(i, script.Answer{Outcome: script.Refused})
		}
	}
	return r
}

// Answer implements [node.Receiver].
func (r *Return) Answer(i int, a script.Answer) {
	if r.next != nil {
		r.next.entered(i, a.Outcome)
	}
	r.count(i, a)
}

func (r *Return) count(i int, a script.Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Step(i, outcome(a))
	r.ballot.put(i, a)
	if r.keep == 0 && r.ballot.in == r.m.All() {
		r.m.owners.forget(r.claim.ID)
	}
	if !r.over && r.state.Over(&r.m.conf) {
		r.over = true
		if t := r.claim.trace; t != nil && r.keep == 0 {
			t.releasedLocked(r)
		}
		close(r.done)
	}
}

// Wait returns nil once a majority of the masters is known not to have the hold, unless
// so many of them lacked it before that somebody else may have had the lock: ErrLost.
//
// ErrNoQuorum says that too few answered: the release is repeated in the background. If
// ctx ended first, the error matches ctx's.
func (r *Return) Wait(ctx context.Context) error {
	var cut error
	state := errUnconfirmed
	select {
	case <-r.done:
	case <-ctx.Done():
		cut, state = Ended(ctx), errNotAwaited
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		cut, state = nil, errUnconfirmed
	}
	return r.resultLocked(state, cut)
}

// resultLocked returns what Wait does. state is what to say if too few masters have answered.
func (r *Return) resultLocked(state, cut error) error {
	switch {
	case r.state.Lost(&r.m.conf) == quorum.Won:
		state = ErrLost
	case r.state.Free(&r.m.conf):
		return nil
	}
	return r.m.lost("unlock", r.claim.Key, &r.ballot, state, cut, nil)
}
