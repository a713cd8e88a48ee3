package multilock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
)

// errEnded tells the caller of enter to lock anew.
var errEnded = errors.New("redlock: hold has ended")

// enter enters the hold again, when a majority of the masters confirms that it still has it.
//
// The count is sent with h.mu held, so that the masters get the counts in order.
func (h *Hold) enter(ctx context.Context, req Request) error {
	if !h.m.begin() {
		return ErrClosed
	}
	defer h.m.tries.Done()
	h.mu.Lock()
	if h.claim.Mode == script.Shared && !req.Shared {
		h.mu.Unlock()
		if h.Check() != nil {
			return errEnded
		}
		return Fail("lock", h.key, ErrUpgrade)
	}
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldDue})
	if ended {
		h.finish(out, nil)
		return errEnded
	}
	if h.cause != nil {
		h.mu.Unlock()
		return errEnded
	}
	h.entries.Ask()
	c := h.m.newContest(h.key, protocol.Want{Lease: req.Lease, Again: true}, time.Time{}, req.trace)
	c.owner, c.entries = h.claim.Owner, h.entries.Count()
	c.start()
	h.mu.Unlock()

	var cut error
	select {
	case <-c.decided:
	case <-ctx.Done():
		cut = Ended(ctx)
	}
	grant, why := c.conclude(cut)
	switch {
	case why == nil:
		return h.entered(req, grant.Until)
	case lost(why):
		h.step(protocol.HoldEvent{Kind: protocol.HoldLost, Writer: c.owner.Mode == script.Exclusive}, why)
		if h.Check() != nil {
			return errEnded
		}
	}
	h.mu.Lock()
	h.entries.Drop()
	h.leftUnlock()
	if lost(why) {
		return h.enter(ctx, req) // of the reader that it was made meanwhile
	}
	return why
}

// entered adds an entry that a majority confirmed until then.
func (h *Hold) entered(req Request, until clock.Instant) error {
	h.mu.Lock()
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldExtended, Until: until})
	if ended {
		h.finish(out, nil)
		return errEnded
	}
	defer h.mu.Unlock()
	if h.cause != nil {
		return errEnded
	}
	h.entries.Add(req.Entry, h.m.wish(&req))
	if req.trace != nil {
		req.trace.won(h)
	}
	h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldWatch, Wish: h.entries.Wish()})
	return nil
}

// leftUnlock follows an entry that was given back, or was not confirmed. The last one of a hold frees
// the lock; otherwise the masters are sent the hold count. The release that it returns is nil if there
// is nothing to send. The caller holds mu, which leftUnlock unlocks.
func (h *Hold) leftUnlock() *Return {
	ev := protocol.HoldEvent{Kind: protocol.HoldWatch, Wish: h.entries.Wish()}
	if h.entries.Count() == 0 {
		ev.Kind = protocol.HoldEnd
	}
	out, ended := h.stepLocked(ev)
	if ended {
		return h.finish(out, ErrNotHeld)
	}
	defer h.mu.Unlock()
	if h.cause != nil {
		return nil
	}
	claim := h.claim
	claim.At = h.state.At
	return h.m.release(claim, h.entries.Count())
}

// Unlock gives an entry back, and with the last one the lock. See redlock.Hold.Unlock for its
// errors.
func (h *Hold) Unlock(ctx context.Context, e Entry) error {
	live := ctx.Err() == nil
	h.mu.Lock()
	if !h.entries.Has(e) {
		h.mu.Unlock()
		return ErrNotHeld
	}
	ev := protocol.HoldEvent{Kind: protocol.HoldDue}
	if h.entries.Count() == 1 {
		ev.Kind = protocol.HoldEnd
	}
	out, ended := h.stepLocked(ev)
	var r *Return
	if ended {
		r = h.finish(out, ErrNotHeld)
		h.mu.Lock()
	}
	h.entries.Leave(e)
	switch {
	case ended && h.state.State == protocol.Released:
		h.mu.Unlock()
	case h.cause != nil:
		defer h.mu.Unlock()
		return h.cause
	default:
		r = h.leftUnlock()
		e.Ended(ErrNotHeld)
	}
	if live && errors.Is(context.Cause(ctx), ErrNotHeld) {
		ctx = context.WithoutCancel(ctx) // it was the entry's own: a wait for the answers must not end by that
	}
	if r == nil {
		return nil // it is kept
	}
	err := r.Wait(ctx)
	if ended || !lost(err) {
		return err
	}
	h.step(protocol.HoldEvent{Kind: protocol.HoldLost, Writer: r.claim.Mode == script.Exclusive}, err)
	h.mu.Lock()
	if h.cause != nil {
		h.mu.Unlock()
		return err
	}
	return h.leftUnlock().Wait(ctx) // of the reader that it was made meanwhile
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
	if h.cause != nil || !h.entries.Has(e) {
		return false
	}
	mistake = h.entries.Leak(e)
	if h.state.Watched {
		h.state.Want(h.entries.Wish())
		h.m.dog.schedule(h)
	}
	return mistake
}

// lost reports whether err says that the hold it is about was lost; ctx's cause, which it may
// carry too, may be the loss of another.
func lost(err error) bool {
	why, ok := errors.AsType[*MajorityError](err)
	return ok && why.Lost()
}
