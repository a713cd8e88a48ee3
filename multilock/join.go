package multilock

import (
	"context"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Join makes one hold of two that the client has of one name at two sets of masters. If either is lost,
// so is the other. Both have the larger of their fencing tokens, and the counters of a majority in each
// set are not below it, so the next hold's token is larger in whichever set that is taken. Slots keep
// tokens of their own.
//
// ErrLost: one was lost, or was joined with a hold that has ended, so it has shown its token to somebody
// while the name may have had another holder in between. Both have ended then. ErrNoQuorum: too few
// masters answered. ErrClosed: the client was closed.
//
// Cost: none where the tokens are the same, otherwise one script call on each master of one set.
func Join(ctx context.Context, a, b *Hold) error {
	if !a.bind(b) || !b.bind(a) {
		op, name := called(a.d.key)
		why := poll.Fail(op, name, poll.ErrLost)
		a.end(attempt.Lose, why)
		b.end(attempt.Lose, why)
		return why
	}
	if a.d.slot >= 0 {
		return nil
	}
	if a.Token() > b.Token() {
		a, b = b, a
	}
	return a.raiseTo(ctx, b.Token())
}

// bind notes that h is lost when other is, and the other way round. It reports false if h has ended or
// was bound to another.
func (h *Hold) bind(other *Hold) bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if h.bound == nil {
		h.bound = other
	}
	return h.bound == other && h.liveLocked()
}

// raiseTo makes token the fencing token of the hold, once no fencing counter of a majority of the masters
// is below it.
func (h *Hold) raiseTo(ctx context.Context, token int64) error {
	h.d.mu.Lock()
	owner, lease := h.d.owner, h.d.state.Lease
	if token <= h.d.state.Last() {
		h.token = token
		h.d.mu.Unlock()
		return nil
	}
	h.d.mu.Unlock()
	if !h.d.m.All.Begin() {
		return poll.ErrClosed
	}
	defer h.d.m.All.End()
	reached := func(b *poll.Ballot) (yes, no int) {
		for i := range b.N {
			switch a := b.At(i); {
			case !b.In.Has(i):
			case a.Outcome == script.Done, a.Outcome == script.Refused && a.Token >= token:
				yes++
			default:
				no++
			}
		}
		return yes, no
	}
	p := h.d.m.All.NewPoll(func(b *poll.Ballot) bool {
		yes, no := reached(b)
		return quorum.Vote(b.N, yes, no) != quorum.Pending
	})
	p.Told = h.trace.agrees(h.Owner(), token)
	h.d.m.All.Send(owner.Raise(lease, token), h.d.m.All.Set(), p)
	b, cut := p.Wait(ctx)
	if yes, _ := reached(b); !h.d.m.All.Majority(yes) {
		return h.d.m.All.Lost("lock", h.d.key, b, poll.ErrNoQuorum, cut, nil)
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	h.token = token
	h.d.state.Token, h.d.state.Spare = token, 0
	return nil
}
