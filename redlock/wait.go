package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"example.com/redlock/multilock"
)

// wait is how a caller passes the time until it is worth while to ask the masters. It
// is the seam behind which the way of waiting can change.
type wait struct {
	c    *Client
	t    *turn
	last *MajorityError // of the last try
}

// Bounds of the time between two tries. The first is also the unit of the random part,
// which keeps clients apart that got in each other's way.
const (
	shortPause = 8 * time.Millisecond
	longPause  = 60 * time.Millisecond
)

// turn waits until the caller is the contender. Like the others, it is false when the
// wait is over without the lock, and true when it is time to look again.
func (w *wait) turn(ctx context.Context) bool {
	return sleep(ctx, w, w.t.first)
}

// local waits until a hold of the client itself ends.
func (w *wait) local(ctx context.Context, h *held) bool {
	return sleep(ctx, w, h.over)
}

// pause waits until a majority of the masters may be free: as long as they said that
// the lock is taken, but not so long that a release goes unnoticed.
func (w *wait) pause(ctx context.Context) bool {
	d := longPause
	if free, ok := w.last.FreeAfter(); ok {
		d = min(d, free)
	}
	if w.last.Split() {
		d = 0
	}
	timer := time.NewTimer(d + rand.N(shortPause))
	defer timer.Stop()
	return sleep(ctx, w, timer.C)
}

// note remembers why a try failed, also for the callers behind, and is false if waiting
// does not help.
func (w *wait) note(ctx context.Context, err error) bool {
	majority, ok := errors.AsType[*MajorityError](err)
	switch {
	case !ok:
	case ctx.Err() == nil:
		w.last = majority
		w.c.tell(w.t.name, majority)
	case w.last == nil: // cut short: what was heard before says more
		w.last = cmp.Or(w.c.told(w.t.name), majority)
	}
	return ok
}

// err says why the wait was over.
func (w *wait) err(ctx context.Context) error {
	if w.last == nil {
		w.last = w.c.told(w.t.name)
	}
	switch {
	case ctx.Err() == nil:
		return ErrClosed
	case w.last == nil:
		return fmt.Errorf("redlock: lock %q: %w: %w", w.t.name, multilock.Ended(ctx), ErrTaken)
	case errors.Is(w.last, ctx.Err()):
		return w.last
	}
	return w.last.With(multilock.Ended(ctx))
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
