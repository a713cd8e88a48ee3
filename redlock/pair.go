package redlock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// pair is a lock that is held in two sets of masters: see [Sets.Change]. Its Hold has the name, the
// owner and the token of the hold in the old set, whose token both sets have agreed on.
type pair struct {
	old, next *Hold
	ctx       *group
}

// newPair makes one Hold of two. Each of them reports it if the Hold becomes garbage.
func newPair(ctx context.Context, bound bool, old, next *Hold) *Hold {
	return &Hold{h: old.h, e: old.e, pair: &pair{old, next, newGroup(ctx, bound, old.e, old, next)}}
}

// both does f to both holds at the same time, and joins what comes of it.
func (p *pair) both(f func(*Hold) error) error {
	var old, next error
	var wg sync.WaitGroup
	wg.Go(func() { old = f(p.old) })
	next = f(p.next)
	wg.Wait()
	switch {
	case old == nil:
		return next
	case next == nil || next.Error() == old.Error():
		return old
	}
	return errors.Join(old, next)
}

// unlock gives both back.
func (p *pair) unlock(ctx context.Context) error {
	ctx = p.ctx.unlocking(ctx)
	return p.both(func(h *Hold) error { return h.Unlock(ctx) })
}

// until returns the end of the validity that ends first.
func (p *pair) until() time.Time {
	old, next := p.old.Until(), p.next.Until()
	if next.Before(old) {
		return next
	}
	return old
}
