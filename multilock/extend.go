package multilock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// Extend extends the hold to lease from now for one of its entries. See redlock.Hold.Extend for its
// errors.
func (h *Hold) Extend(ctx context.Context, e Entry, lease time.Duration) error {
	if err := h.beginFor(e); err != nil {
		return err
	}
	defer h.m.tries.Done()
	err := h.await(ctx, "extend", h.renewNow("extend", lease))
	if err == errDowngraded {
		err = h.await(ctx, "extend", h.renewNow("extend", lease))
	}
	return err
}

// errDowngraded says that a renewal was sent for a writer and came behind the downgrade. It found readers,
// which says nothing of the reader that the hold is by now.
var errDowngraded = errors.New("downgraded meanwhile")

var errPermit = errors.New("it is a permit")

// Downgrade makes an exclusive hold a shared one, for all of its entries. See
// redlock.Hold.Downgrade for its errors.
//
// The hold counts as a reader's at once, whatever the masters know: a reader may only do less. Each
// master follows with the first renewal that reaches it, and lets in the readers that wait there.
//
// Cost: one script call on each master. Source: docs/algorithm.md, "Readers".
func (h *Hold) Downgrade(ctx context.Context, e Entry) error {
	if err := h.beginFor(e); err != nil {
		return err
	}
	defer h.m.tries.Done()
	if h.semaphore {
		return Fail("downgrade", h.key, errPermit)
	}
	return h.downgrade(ctx)
}

// downgrade is Downgrade. The hold may end at any moment until h.mu is held: then nothing is sent, or
// its release, which is about to be sent for a writer, would find none.
func (h *Hold) downgrade(ctx context.Context) error {
	h.mu.Lock()
	lease := h.state.Lease
	out, ended := h.stepLocked(protocol.HoldEvent{Kind: protocol.HoldDowngrade})
	if ended {
		h.finish(out, nil)
		return h.Check()
	}
	if h.cause != nil {
		defer h.mu.Unlock()
		return h.cause
	}
	if h.claim.Mode == script.Exclusive {
		h.claim.Owner = script.NewReader(h.key, h.id)
	}
	h.mu.Unlock()
	return h.await(ctx, "downgrade", h.renewNow("downgrade", lease))
}

// beginFor begins an operation for one of the hold's entries, which must be held.
func (h *Hold) beginFor(e Entry) error {
	cause := h.Check()
	h.mu.Lock()
	held := h.entries.Has(e)
	h.mu.Unlock()
	switch {
	case !held:
		return ErrNotHeld
	case cause != nil:
		return cause
	case !h.m.begin():
		return ErrClosed
	}
	return nil
}

// renewNow sends a renewal for op, and returns where to be told what becomes of it.
func (h *Hold) renewNow(op string, lease time.Duration) <-chan error {
	result := make(chan error, 1)
	h.m.extend(redlocktrace.Renewal(op), lease, []renewal{{hold: h, told: func(ev protocol.HoldEvent, why *MajorityError) {
		result <- h.extended(op, ev, why)
	}}})
	return result
}

// await waits for a result of renewNow.
func (h *Hold) await(ctx context.Context, op string, result <-chan error) error {
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return Fail(op, h.key, Ended(ctx))
	}
}

// extended takes what became of a renewal for op, and returns its error, nil if a majority confirmed
// it.
func (h *Hold) extended(op string, ev protocol.HoldEvent, why *MajorityError) error {
	if why == nil {
		ev.Kind = protocol.HoldExtended
		h.step(ev, nil)
		return h.Check()
	}
	why.Op = op
	if ev.Kind == protocol.HoldLost {
		h.step(ev, why)
	}
	if cause := h.Check(); cause != nil {
		return cause // it may have been given back meanwhile
	}
	if ev.Kind == protocol.HoldLost {
		return errDowngraded
	}
	return why
}
