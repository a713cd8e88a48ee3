package redlock

import (
	"context"
	"errors"
	"runtime"
	"time"

	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/poll"
)

// A Hold has one entry of a lock or, while its name moves between sets of masters, one in each of two sets: the parts of
// its window. Its owner and its slot are those of the first entry, and both sets have agreed on its token.

// newHold makes a Hold of the entries of w. Once it is garbage, nobody can unlock them any more: see leaked.
//
// Neither the entries nor their locks and contexts refer to the Hold; otherwise it would live for as long as the lock is
// renewed.
func newHold(w *window) *Hold {
	h := &Hold{of: w}
	h.leak = runtime.AddCleanup(h, leaked, w)
	return h
}

// newPair makes one Hold of those in two sets.
func newPair(ctx context.Context, bound bool, first, second *Hold) *Hold {
	first.leak.Stop()
	second.leak.Stop()
	h := newHold(around(ctx, bound, first.of.parts[0], first, second))
	runtime.KeepAlive(first) // until here, or they could have leaked
	runtime.KeepAlive(second)
	return h
}

// about returns what has the name of h, its owner and its token.
func (h *Hold) about() *multilock.Hold {
	if h.of == nil {
		return multilock.NoHold()
	}
	return h.of.parts[0].hold.Load()
}

// each runs f, which is op, for all entries of h at the same time, and joins the errors.
func (h *Hold) each(ctx context.Context, op string, f func(*entry, context.Context) error) error {
	if h.of == nil {
		return errNoHold
	}
	one := func(e *entry) error {
		err := f(e, ctx)
		if err == ErrNotHeld { // a bug of the caller, who has to know which lock
			err = poll.Fail(op, h.Name(), err)
		}
		return outward(err)
	}
	if len(h.of.parts) == 1 {
		return one(h.of.parts[0])
	}
	err := joined(beside.All(h.of.parts, one))
	if same, ok := err.(several); ok && len(same) == 1 {
		return same[0]
	}
	return err
}

func (e *entry) extend(ctx context.Context, lease time.Duration) error {
	if err := e.set.cfg.checkLease("lease", lease); err != nil {
		return err
	}
	return e.hold.Load().Extend(ctx, e, lease.Truncate(time.Millisecond))
}

func (e *entry) downgrade(ctx context.Context) error { return e.hold.Load().Downgrade(ctx, e) }

func (e *entry) unlock(ctx context.Context) error {
	e.unlocked.Store(true)
	err := e.hold.Load().Unlock(ctx, e)
	if cause := context.Cause(e.ctx.Context); err != nil && errors.Is(cause, err) {
		return cause // the caller may compare it with the cause of its context
	}
	return err
}

// join makes one Hold of those that have the same name.
func join(ctx context.Context, bound bool, holds []*Hold) ([]*Hold, error) {
	var all []*Hold
	var pairs [][2]*Hold
	for i, h := range holds {
		if i == 0 || holds[i-1].Name() != h.Name() {
			all = append(all, h)
			continue
		}
		first := holds[i-1]
		all[len(all)-1], pairs = newPair(ctx, bound, first, h), append(pairs, [2]*Hold{first, h})
	}
	return all, joined(beside.All(pairs, func(p [2]*Hold) error {
		return multilock.Join(ctx, p[0].about(), p[1].about())
	}))
}

// pause lets some time pass before the client asks masters again that did not agree, or whose votes did not last.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}
