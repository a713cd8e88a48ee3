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

// Wait returns nil once a majority of the masters had the hold and gave it up.
//
// ErrLost says that so few of them had it that somebody else may have had the lock;
// ErrNoQuorum, that too few answered: the release is repeated in the background. If
// ctx ended first, the error matches ctx's.
func (r *Return) Wait(ctx context.Context) error {
	cut := r.wait(ctx)
	freed, refused, _ := r.tally()
	if quorum.Vote(len(r.m.nodes), freed, 0) == quorum.Won {
		return nil
	}
	state := ErrNoQuorum
	if quorum.Vote(len(r.m.nodes), 0, refused) == quorum.Lost {
		state = ErrLost
	}
	if cut != nil {
		cut = Ended(ctx)
	}
	return r.m.lost("unlock", r.key, &r.poll, state, cut, nil)
}

// decided: failures alone do not settle a release, since an answer that is still to
// come can tell whether the hold was lost.
func (r *Return) decided() bool {
	freed, refused, _ := r.tally()
	return quorum.Vote(len(r.m.nodes), freed, refused) != quorum.Pending
}
