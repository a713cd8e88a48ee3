package multilock

import (
	"context"

	"example.com/redlock/multilock/protocol"
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
		why := Fail("lock", a.key, ErrLost)
		a.step(protocol.HoldEvent{Kind: protocol.HoldLost}, why)
		b.step(protocol.HoldEvent{Kind: protocol.HoldLost}, why)
		return why
	}
	if a.semaphore {
		return nil
	}
	if a.Token() > b.Token() {
		a, b = b, a
	}
	return a.raise(ctx, b.Token())
}

// bind notes that h is lost when other is, and the other way round. It reports false if h has ended or
// was bound to another.
func (h *Hold) bind(other *Hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bound == nil {
		h.bound = other
	}
	return h.bound == other && h.cause == nil
}

// raise makes token the fencing token of the hold, once no fencing counter of a majority of the masters
// is below it.
func (h *Hold) raise(ctx context.Context, token int64) error {
	h.mu.Lock()
	claim, lease := h.claim, h.state.Lease
	if token <= claim.Token {
		h.token = max(h.token, token)
		h.mu.Unlock()
		return nil
	}
	h.mu.Unlock()
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
	if yes, _ := reached(b); !h.m.majority(yes) {
		return h.m.lost("lock", h.key, b, ErrNoQuorum, cut, nil)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claim.Token, h.token = token, token
	return nil
}

// Reach waits until a majority of the masters would grant key, as far as is known without asking them. The
// error is that of Ready.
func (m *Masters) Reach(ctx context.Context, key string) error {
	lacking := func() error {
		if why := m.unready("lock", key); why != nil {
			return why
		}
		return nil
	}
	if lacking() == nil {
		return nil
	}
	return m.await(ctx, lacking)
}
