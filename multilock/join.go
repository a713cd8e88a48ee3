package multilock

import (
	"context"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
)

// Join makes one hold of two that the client has of one name at two sets of masters. If either is lost,
// so is the other. Both have the larger of their fencing tokens, and the counters of a majority in each
// set are not below it, so the next hold's token is larger in whichever set that is taken. Slots keep
// tokens of their own.
//
// ErrLost: one of them was lost, or had been joined with another hold. If that has ended, its token was used then, and the
// name may have had another holder since. So both are ended, but for one that goes on with another hold. ErrNoQuorum: too
// few masters answered. ErrClosed: the client was closed.
//
// Cost: none where the tokens are the same, otherwise one script call on each master of one set.
func Join(ctx context.Context, a, b *Hold) error {
	if !a.bind(b) || !b.bind(a) {
		op, name := called(a.d.key)
		why := poll.Fail(op, name, poll.ErrLost)
		a.part(b, why)
		b.part(a, why)
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

// part ends h, which cannot be joined with other, unless it is joined with another hold that goes on. Readers of one owner
// that ask at the same time may get two holds in one set, and share the one that they get in the other.
func (h *Hold) part(other *Hold, why error) {
	h.d.mu.Lock()
	if h.bound == other {
		h.bound = nil // or that would be lost with h
	}
	bound := h.bound
	h.d.mu.Unlock()
	if bound == nil || bound.Check() != nil {
		h.end(attempt.Lose, why)
	}
}

// raiseTo makes token the fencing token of the hold, once no fencing counter of a majority of the masters
// is below it.
func (h *Hold) raiseTo(ctx context.Context, token int64) error {
	d := h.d
	if !d.m.All.Begin() {
		return poll.ErrClosed
	}
	defer d.m.All.End()
	defer d.flush()
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.stepLocked(&attempt.Event{Kind: attempt.Agree, Token: token}); r != nil && r.command == attempt.Raise {
		d.mu.Unlock()
		cut := d.await(ctx, r)
		d.mu.Lock()
		if h.liveLocked() && r.result != attempt.Confirmed {
			return d.m.All.Lost("lock", d.key, &r.ballot, poll.ErrNoQuorum, cut, nil)
		}
	}
	if h.liveLocked() {
		h.token = token
	}
	return h.cause
}
