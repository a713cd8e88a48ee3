package redlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/redlock/multilock"
)

// errEnded tells the caller of enter to lock anew.
var errEnded = errors.New("redlock: hold has ended")

// enter adds a level to the hold, when a majority of the masters confirms that it still
// has it.
//
// The count is sent with h.mu held, so that the masters get the counts in order.
func (h *held) enter(ctx context.Context, w want) (*Hold, error) {
	if !h.c.begin() {
		return nil, ErrClosed
	}
	defer h.c.tries.Done()
	if h.check() != nil {
		return nil, errEnded
	}
	l := h.open(ctx, new(level), w) // without h.mu: ctx may ask a hold whether it has ended
	h.mu.Lock()
	if h.cause != nil {
		h.mu.Unlock()
		l.ctx.cancel(errEnded)
		return nil, errEnded
	}
	h.levels = append(h.levels, l)
	attempt := h.c.masters.Acquire(multilock.Request{
		Owner:    h.claim.Owner,
		Lease:    w.lease,
		Count:    len(h.levels),
		Proposal: h.claim.Token,
	})
	h.mu.Unlock()

	grant, err := attempt.Wait(ctx)
	if err == nil && h.renewed(grant.Until) != nil || lost(err) {
		h.lose(err)
		return nil, errEnded
	}
	if err != nil {
		h.leave(l, err)
		return nil, err
	}
	if w.watch {
		h.mu.Lock()
		if !h.watch && h.cause == nil {
			h.watchFrom(time.Now())
			h.watchOn()
		}
		h.mu.Unlock()
	}
	return h.handle(l), nil
}

// leave takes back a level that was not entered. Where all others were unlocked
// meanwhile, that frees the lock.
func (h *held) leave(l *level, err error) {
	h.mu.Lock()
	live := h.drop(l) && h.cause == nil
	last := live && len(h.levels) == 0
	if last {
		h.endLocked(ErrNotHeld)
	} else if live {
		h.c.masters.Release(h.claim, len(h.levels))
	}
	h.mu.Unlock()
	l.ctx.cancel(err)
	if last {
		h.finish()
	}
}

// drop takes a level away, and is false if it is not there. h.mu is held.
func (h *held) drop(l *level) bool {
	i := slices.Index(h.levels, l)
	if i < 0 {
		return false
	}
	h.levels = slices.Delete(h.levels, i, i+1)
	if len(h.levels) > 0 {
		h.attend()
	}
	return true
}

// lost reports whether err says that the hold it is about was lost; ctx's cause, which it may
// carry too, may be the loss of another.
func lost(err error) bool {
	why, ok := errors.AsType[*MajorityError](err)
	return ok && why.Lost()
}

// unlock gives a level back, and with the last one the lock.
func (h *held) unlock(ctx context.Context, l *level) error {
	live := ctx.Err() == nil
	// ended is ctx's once the level has ended: a wait for the answers must not end by that.
	ended := func() context.Context {
		l.ctx.cancel(ErrNotHeld)
		if live && ctx.Err() != nil {
			return context.WithoutCancel(ctx)
		}
		return ctx
	}
	h.check()
	h.mu.Lock()
	if !h.drop(l) {
		h.mu.Unlock()
		return ErrNotHeld
	}
	if h.cause != nil {
		h.mu.Unlock()
		l.ctx.cancel(h.cause)
		return h.cause
	}
	if len(h.levels) == 0 {
		h.endLocked(ErrNotHeld)
		h.mu.Unlock()
		ctx = ended()
		return h.finish().Wait(ctx)
	}
	r := h.c.masters.Release(h.claim, len(h.levels))
	h.mu.Unlock()
	err := r.Wait(ended())
	if lost(err) {
		h.lose(err)
	}
	return err
}
