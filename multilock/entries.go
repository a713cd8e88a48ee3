package multilock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// errEnded tells the caller of enter to lock anew.
var errEnded = errors.New("redlock: hold has ended")

// enter enters the hold again, when a majority of the masters confirms that it still has it.
//
// The count is sent with h.mu held, so that the masters get the counts in order.
func (h *Hold) enter(ctx context.Context, req Request) error {
	if !h.m.Begin() {
		return poll.ErrClosed
	}
	defer h.m.End()
	h.mu.Lock()
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldEnter, Shared: req.Shared})
	switch {
	case ended:
		h.finish(out, nil)
		return errEnded
	case h.cause != nil:
		h.mu.Unlock()
		return errEnded
	case out.Count == 0:
		h.mu.Unlock()
		return poll.Fail("lock", h.key, poll.ErrUpgrade)
	}
	c := h.m.newContest(h.key, protocol.Want{Lease: req.Lease, Again: true}, time.Time{}, req.trace)
	c.owner, c.entries = h.claim.Owner, out.Count
	c.start()
	h.mu.Unlock()

	var cut error
	select {
	case <-c.decided:
	case <-ctx.Done():
		cut = poll.Ended(ctx)
	}
	grant, why := c.conclude(cut)
	if why == nil {
		return h.entered(req, grant.Until)
	}
	h.mu.Lock()
	h.entryUnlock(nil, protocol.HoldEvent{Kind: protocol.HoldDenied, Lost: lost(why), Writer: c.owner.Mode == script.Exclusive}, why)
	if lost(why) {
		return h.enter(ctx, req) // unless it has ended: it was made a reader meanwhile
	}
	return why
}

// entered adds an entry that a majority confirmed until then.
func (h *Hold) entered(req Request, until clock.Instant) error {
	h.mu.Lock()
	out, ended := h.entryLocked(req.Entry, protocol.HoldEvent{Kind: protocol.HoldEntered, Until: until, Wish: h.m.wish(&req)})
	if ended {
		h.finish(out, nil)
		return errEnded
	}
	defer h.mu.Unlock()
	if h.cause != nil {
		return errEnded
	}
	if req.trace != nil {
		req.trace.won(h)
	}
	return nil
}

// entryUnlock passes ev to the hold, and returns the release that follows, nil if there is none: of the hold if
// that has ended, else of the hold count that is left. If the hold is lost, why says so. The caller holds mu,
// which entryUnlock unlocks.
func (h *Hold) entryUnlock(e Entry, ev protocol.HoldEvent, why error) (r *Return, ended bool) {
	out, ended := h.entryLocked(e, ev)
	if ended {
		if h.state.State == protocol.Released {
			why = poll.ErrNotHeld
		}
		return h.finish(out, why), true
	}
	defer h.mu.Unlock()
	if out.Count > 0 {
		claim := h.claim
		claim.At = h.state.At
		r = h.m.release(claim, out.Count)
	}
	return r, false
}

// Unlock gives an entry back, and with the last one the lock. See redlock.Hold.Unlock for its
// errors.
func (h *Hold) Unlock(ctx context.Context, e Entry) error {
	h.mu.Lock()
	if !h.state.Has(e) {
		h.mu.Unlock()
		return poll.ErrNotHeld
	}
	r, ended := h.entryUnlock(e, protocol.HoldEvent{Kind: protocol.HoldLeft}, nil)
	switch {
	case !ended && r != nil:
		e.Ended(poll.ErrNotHeld)
	case !ended || h.state.State != protocol.Released:
		return h.Check()
	}
	if r == nil {
		return nil // it is kept
	}
	err := r.Wait(ctx)
	if ended || !lost(err) {
		return err
	}
	h.mu.Lock()
	r, ended = h.entryUnlock(nil, protocol.HoldEvent{Kind: protocol.HoldLost, Writer: r.claim.Mode == script.Exclusive}, err)
	if ended || r == nil {
		return err
	}
	return r.Wait(ctx) // of the reader that it was made meanwhile
}

// Orphan notes that nobody can give e back any more. Once that is so of all entries that want the hold
// renewed, it is renewed no more. It ends with its validity and not before, since work under the context
// of an entry may still be going on. Orphan reports whether that is a mistake: a fixed lease may be left
// to end by itself.
//
// It may be called outside the synctest bubble that the client is in: it reads no clock and touches
// no channel and no timer.
func (h *Hold) Orphan(e Entry) (mistake bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil || !h.state.Has(e) {
		return false
	}
	watched := h.state.Watched
	if mistake = h.state.Leak(e); watched {
		h.m.dog.schedule(h)
	}
	return mistake
}

// lost reports whether err says that the hold it is about was lost; ctx's cause, which it may
// carry too, may be the loss of another.
func lost(err error) bool {
	why, ok := errors.AsType[*poll.MajorityError](err)
	return ok && why.Lost()
}

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
		why := poll.Fail("lock", a.key, poll.ErrLost)
		a.step(protocol.HoldEvent{Kind: protocol.HoldLost}, why)
		b.step(protocol.HoldEvent{Kind: protocol.HoldLost}, why)
		return why
	}
	if a.isPermit() {
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
	if !h.m.Begin() {
		return poll.ErrClosed
	}
	defer h.m.End()
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
	p := h.m.NewPoll(func(b *poll.Ballot) bool {
		yes, no := reached(b)
		return quorum.Vote(b.N, yes, no) != quorum.Pending
	})
	p.Told = claim.trace.agrees(claim.ID, token)
	h.m.Send(claim.Raise(lease, token), h.m.All(), p)
	b, cut := p.Wait(ctx)
	if yes, _ := reached(b); !h.m.Majority(yes) {
		return h.m.Lost("lock", h.key, b, poll.ErrNoQuorum, cut, nil)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claim.Token, h.token = token, token
	return nil
}
