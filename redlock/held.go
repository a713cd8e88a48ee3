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

// A Hold is of an entry of a lock or, while its name moves between sets of masters, of one in each of two sets: those of
// its window. It has the owner and the slot of the first, and the token that both sets have agreed on.

// newHold makes a Hold of the entries of w. When it is garbage, so that nobody can unlock them any more, they leak.
//
// Neither an entry nor its lock refers to the Hold, nor do their contexts; otherwise it would live as
// long as the lock is renewed.
func newHold(w *window) *Hold {
	h := &Hold{of: w}
	h.leak = runtime.AddCleanup(h, leaked, w)
	return h
}

// newPair makes one Hold of two.
func newPair(ctx context.Context, bound bool, first, second *Hold) *Hold {
	first.leak.Stop()
	second.leak.Stop()
	h := newHold(around(ctx, bound, first.of.parts[0], first, second))
	runtime.KeepAlive(first) // until here, or they could have leaked
	runtime.KeepAlive(second)
	return h
}

// about has the name of h, its owner and its token.
func (h *Hold) about() *multilock.Hold {
	if h.of == nil {
		return multilock.NoHold()
	}
	return h.of.parts[0].hold.Load()
}

// each runs f, which is op, for all entries of h at the same time, and joins the errors. What both say is said once.
func (h *Hold) each(ctx context.Context, op string, f func(*entry, context.Context) error) error {
	one := func(e *entry) error {
		err := f(e, ctx)
		if err == ErrNotHeld { // a bug of the caller's, who has to know of which lock
			err = poll.Fail(op, h.Name(), err)
		}
		return outward(err)
	}
	switch {
	case h.of == nil:
		return errNoHold
	case len(h.of.parts) == 1:
		return one(h.of.parts[0])
	}
	errs := beside.All(h.of.parts, one)
	switch first, second := errs[0], errs[1]; {
	case first == nil:
		return second
	case second == nil || second.Error() == first.Error():
		return first
	}
	return joined(errs)
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
		return cause // so that who has that already knows it again
	}
	return err
}

// take takes the locks of items, and returns one Hold for each name. With bound, the context of a Hold
// for two items ends with ctx.
func take(ctx context.Context, items []item, wait, bound bool) ([]*Hold, error) {
	for i := range items[1:] {
		if items[i].req.Key == items[i+1].req.Key {
			if err := items[i].apart(items[i+1].set); err != nil {
				return nil, err
			}
		}
	}
	for {
		if ctx.Err() != nil { // or what the client keeps would be taken over
			return nil, poll.Fail(items[0].op(), items[0].req.Key, poll.Ended(ctx))
		}
		holds := make([]*Hold, len(items))
		if err := takeAll(ctx, items, holds, wait); err != nil {
			return nil, err
		}
		all, err := join(ctx, bound, holds)
		if err == nil {
			return all, nil
		}
		giveBack(ctx, holds)
		switch {
		case !wait || ctx.Err() != nil || errors.Is(err, ErrClosed):
			return nil, err
		default:
			pause(ctx)
		}
	}
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

// pause lets some time pass before masters are asked anew that did not agree, or whose votes did not last.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}
