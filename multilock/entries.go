package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
)

// share is an entry of a hold, and what became of it.
type share struct {
	entry  Entry
	orphan bool // nobody can give it back any more
	back   bool // it was given back after the hold had ended, whose entries stay as they are
}

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
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldEnter})
	if ended {
		h.finish(out, nil)
		return errEnded
	}
	if h.cause != nil {
		h.mu.Unlock()
		return errEnded
	}
	c := h.m.newContest(h.key, protocol.Want{Lease: req.Lease, Again: true}, time.Time{}, req.trace)
	c.owner, c.entries = h.claim.Owner, h.state.Entries
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
		h.step(protocol.HoldEvent{Kind: protocol.HoldLost}, why)
		return errEnded
	}
	h.leave()
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
	h.entries = append(h.entries, share{entry: req.Entry})
	if req.trace != nil {
		req.trace.won(h)
	}
	if req.Watch && !h.state.Watched {
		h.ceased = nil
		h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldWatch, Lease: req.Lease, Limit: h.limit})
	}
	return nil
}

// leave takes back an entry that was not confirmed. If all others were given back meanwhile, that
// frees the lock.
func (h *Hold) leave() {
	h.mu.Lock()
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldLeave})
	if ended {
		h.finish(out, ErrNotHeld)
		return
	}
	h.setCountLocked(out)
	h.mu.Unlock()
}

// setCountLocked sends the hold count to the masters that out names, and ends the renewals of a
// hold that nobody can give back any more. The release that it returns is nil if there is nothing
// to send.
func (h *Hold) setCountLocked(out protocol.HoldEffects) *Return {
	h.unwatchLocked()
	if out.Count == 0 {
		return nil
	}
	claim := h.claim
	claim.At = out.Count
	return h.m.release(claim, h.state.Entries)
}

// Unlock gives an entry back, and with the last one the lock. See redlock.Hold.Unlock for its
// errors.
func (h *Hold) Unlock(ctx context.Context, e Entry) error {
	live := ctx.Err() == nil
	h.mu.Lock()
	i := h.indexLocked(e)
	if i < 0 {
		h.mu.Unlock()
		return ErrNotHeld
	}
	if h.cause != nil {
		defer h.mu.Unlock()
		h.entries[i].back = true
		return h.cause
	}
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldLeave})
	var r *Return
	if ended {
		r = h.finish(out, ErrNotHeld)
		h.mu.Lock()
		h.entries[i].back = true
		lost := h.state.State != protocol.Released
		h.mu.Unlock()
		if lost {
			return h.cause
		}
	} else {
		h.entries = slices.Delete(h.entries, i, i+1)
		r = h.setCountLocked(out)
		h.mu.Unlock()
		e.Ended(ErrNotHeld)
	}
	if live && errors.Is(context.Cause(ctx), ErrNotHeld) {
		ctx = context.WithoutCancel(ctx) // it was the entry's own: a wait for the answers must not end by that
	}
	err := r.Wait(ctx)
	if !ended && lost(err) {
		h.step(protocol.HoldEvent{Kind: protocol.HoldLost}, err)
	}
	return err
}

func (h *Hold) indexLocked(e Entry) int {
	return slices.IndexFunc(h.entries, func(s share) bool { return s.entry == e && !s.back })
}

// Orphan notes that nobody can give e back any more. Once that is so of all entries, the hold is
// renewed no more. It ends with its validity and not before, since work under the context of an
// entry may still be going on. Orphan reports whether that is a mistake: a fixed lease may be left
// to end by itself.
//
// It may be called outside the synctest bubble that the client is in: it reads no clock and touches
// no channel and no timer.
func (h *Hold) Orphan(e Entry) (mistake bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.indexLocked(e)
	if i < 0 || h.cause != nil {
		return false
	}
	mistake = h.state.Watched || h.ceased != nil
	h.entries[i].orphan = true
	h.unwatchLocked()
	return mistake
}

// unwatchLocked ends the renewals of a hold once nobody is left who can give it back.
func (h *Hold) unwatchLocked() {
	if !h.state.Watched || slices.ContainsFunc(h.entries, func(s share) bool { return !s.orphan }) || len(h.entries) < h.state.Entries {
		return
	}
	h.ceased = fmt.Errorf("%w: %q was renewed no more: its Hold was garbage without Unlock", ErrLost, h.key)
	h.state.Unwatch()
	h.m.dog.schedule(h)
}

// lost reports whether err says that the hold it is about was lost; ctx's cause, which it may
// carry too, may be the loss of another.
func lost(err error) bool {
	why, ok := errors.AsType[*MajorityError](err)
	return ok && why.Lost()
}
