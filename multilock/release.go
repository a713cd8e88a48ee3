package multilock

import (
	"context"

	"example.com/redlock/node"
	"example.com/redlock/quorum"
)

// Return is a release under way. It goes on, whether or not anybody waits.
type Return struct {
	poll
	m   *Masters
	key string
}

// Release sets the hold count of owner to keep on the masters in at, and frees the lock
// there when that is 0. Each node repeats it until its master has answered.
//
// Cost: one script call on each master. Source: docs/algorithm.md, "Release".
func (m *Masters) Release(key, owner string, keep int, at Set) *Return {
	r := &Return{m: m, key: key}
	r.init(len(m.nodes), r.decided)
	for i := range m.nodes {
		if !at.has(i) {
			r.Answer(i, node.Answer{Outcome: node.Refused}) // known not to have it
		}
	}
	m.send(node.Release(key, owner, keep), at, r)
	return r
}

// Wait returns nil once a majority of the masters is known not to have the hold, unless
// so many of them lacked it before that somebody else may have had the lock: ErrLost.
//
// ErrNoQuorum says that too few answered: the release is repeated in the background. If
// ctx ended first, the error matches ctx's.
func (r *Return) Wait(ctx context.Context) error {
	cut := r.wait(ctx)
	state := ErrNoQuorum
	switch freed, lacked, _ := r.tally(); {
	case r.another(freed, lacked) == quorum.Won:
		state = ErrLost
	case r.free(freed, lacked):
		return nil
	}
	if cut != nil {
		cut = Ended(ctx)
	}
	return r.m.lost("unlock", r.key, &r.poll, state, cut, nil)
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
