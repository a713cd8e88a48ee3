package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/redlock/multilock"
)

// wait is how a caller passes the time until the lock may be its own. What it does while
// it contends is multilock's: see [multilock.Bid].
type wait struct {
	c     *Client
	t     *turn
	entry *MajorityError // why the caller could not enter its owner's hold, if it tried last
	vain  *MajorityError // why there is nothing to wait for, nil as long as there is
}

// again is the time after which a caller that could not enter its owner's hold, for want
// of a quorum, looks again.
const again = 60 * time.Millisecond

// turn waits until the caller is the contender. Like the others, it is false when the
// wait is over without the lock, and true when it is time to look again.
func (w *wait) turn(ctx context.Context) bool {
	return sleep(ctx, w, w.t.first)
}

// local waits until a hold of the client itself ends. The release lets the caller enter
// the queue of the masters, so that the client is to be told when it is passed on.
func (w *wait) local(ctx context.Context, h *held) bool {
	w.c.masters.Listen()
	return sleep(ctx, w, h.ended())
}

// pause waits for a while, after the masters did not let the caller enter its owner's hold, as
// why says.
func (w *wait) pause(ctx context.Context, why *MajorityError) bool {
	w.entry = why
	if why.Hopeless() {
		w.vain = why
		return false
	}
	w.t.Outage(why)
	timer := time.NewTimer(again)
	defer timer.Stop()
	return sleep(ctx, w, timer.C)
}

// bid contends for the lock. ok is true also when there is a reason to look again.
func (w *wait) bid(ctx context.Context) (grant multilock.Grant, won, ok bool) {
	bid := w.c.contend(w.t)
	if bid == nil {
		return multilock.Grant{}, false, false
	}
	grant, won = bid.Wait(ctx, w.t.enter, w.c.done)
	if won {
		w.t.Outage(nil)
		return grant, true, true
	}
	if why := bid.Failure(nil); why != nil && why.Hopeless() {
		w.vain = why
	}
	return grant, false, w.vain == nil && !w.over(ctx)
}

// over reports whether there is nothing to wait for any more.
func (w *wait) over(ctx context.Context) bool {
	select {
	case <-w.c.done:
		return true
	default:
		return ctx.Err() != nil
	}
}

// err says why the wait was over.
func (w *wait) err(ctx context.Context) error {
	if ctx.Err() == nil && w.vain != nil {
		return w.vain
	}
	if ctx.Err() == nil {
		return ErrClosed
	}
	cut := multilock.Ended(ctx)
	last := w.c.told(w.t, cut)
	if last == nil {
		last = w.entry
	}
	if last != nil {
		if !errors.Is(last, ctx.Err()) {
			last = last.With(cut)
		}
		return last
	}
	by := "another caller of this client"
	if h := w.c.holding(w.t.name); h != nil {
		by = fmt.Sprintf("%s (owner %s)", by, h.claim.ID)
	}
	return multilock.Fail("lock", w.t.name, cut, ErrTaken, errors.New(by))
}

// sleep blocks until there is a reason to look again, or none any more.
func sleep[T any](ctx context.Context, w *wait, until <-chan T) bool {
	select {
	case <-until:
	case <-w.t.enter:
	case <-ctx.Done():
		return false
	case <-w.c.done:
		return false
	}
	return true
}
