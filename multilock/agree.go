package multilock

import (
	"context"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Agree makes token the fencing token of the hold. It returns nil once no fencing counter of a majority
// of the masters is below it, so that the next hold's token is larger. It is for a lock that is held at
// several sets of masters, which have to name one token.
//
// The error is a [*MajorityError]: ErrNoQuorum. The hold has the token all the same.
//
// Cost: none if the hold's own token was not smaller, otherwise one script call on each master.
func (h *Hold) Agree(ctx context.Context, token int64) error {
	h.mu.Lock()
	claim, lease := h.claim, h.state.Lease
	h.claim.Token = token
	h.mu.Unlock()
	if token <= claim.Token {
		return nil
	}
	if !h.m.begin() {
		return ErrClosed
	}
	defer h.m.tries.Done()
	reached := func(b *ballot) (yes, no int) {
		for i := range b.n {
			switch a := b.at(i); {
			case !b.in.Has(i):
			case a.Outcome == script.Done, a.Outcome == script.Refused && a.Token >= token:
				yes++
			default:
				no++
			}
		}
		return yes, no
	}
	p := h.m.newPoll(func(b *ballot) bool {
		yes, no := reached(b)
		return quorum.Vote(b.n, yes, no) != quorum.Pending
	})
	p.told = claim.trace.agrees(claim.ID, token)
	h.m.send(claim.Raise(lease, token), h.m.All(), p)
	b, cut := p.wait(ctx)
	if yes, _ := reached(b); h.m.majority(yes) {
		return nil
	}
	return h.m.lost("lock", h.key, b, ErrNoQuorum, cut, nil)
}
