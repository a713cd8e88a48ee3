package redlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/poll"
)

// held is what a Hold is of: an entry of a lock, a pair of them, or nothing.
type held interface {
	about() *multilock.Hold // its name, its owner, its token
	window() *window
	until() time.Time
	remaining() time.Duration
	count() int
	enter(ctx context.Context) (*Hold, error)
	extend(ctx context.Context, lease time.Duration) error
	downgrade(ctx context.Context) error
	unlock(ctx context.Context) error
}

var (
	_ held = (*entry)(nil)
	_ held = (*pair)(nil)
	_ held = unmade{}
)

func (e *entry) about() *multilock.Hold   { return e.hold.Load() }
func (e *entry) window() *window          { return &e.ctx }
func (e *entry) until() time.Time         { return e.hold.Load().Until() }
func (e *entry) remaining() time.Duration { return e.hold.Load().Remaining() }
func (e *entry) count() int               { return e.hold.Load().Count() }

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

// pair is a lock that is held in two sets of masters, see [SetsConfig]: a Hold in each. It has the owner and
// the slot of the first, and the token that both sets have agreed on.
type pair struct{ *Holds }

func newPair(ctx context.Context, bound bool, first, second *Hold) *Hold {
	e := first.of.(*entry)
	return &Hold{of: &pair{newHolds(ctx, bound, e, first, second)}}
}

func (p *pair) about() *multilock.Hold   { return p.holds[0].its().about() }
func (p *pair) window() *window          { return p.ctx }
func (p *pair) remaining() time.Duration { return p.Remaining() }

func (p *pair) until() time.Time {
	return slices.MinFunc(p.holds, func(a, b *Hold) int { return a.Until().Compare(b.Until()) }).Until()
}

func (p *pair) count() int { return min(p.holds[0].Count(), p.holds[1].Count()) }

func (p *pair) extend(ctx context.Context, lease time.Duration) error {
	return p.both(func(h *Hold) error { return h.Extend(ctx, lease) })
}

func (p *pair) downgrade(ctx context.Context) error {
	return p.both(func(h *Hold) error { return h.Downgrade(ctx) })
}

func (p *pair) unlock(ctx context.Context) error {
	return p.both(func(h *Hold) error { return h.Unlock(ctx) })
}

// both runs f for both holds at the same time, and joins the errors. What both say is said once.
func (p *pair) both(f func(*Hold) error) error {
	errs := beside.All(p.holds, f)
	switch first, second := errs[0], errs[1]; {
	case first == nil:
		return second
	case second == nil || second.Error() == first.Error():
		return first
	}
	return joined(errs)
}

// unmade is what a Hold is of that no call returned: nothing.
type unmade struct{}

func (unmade) about() *multilock.Hold                      { return multilock.NoHold() }
func (unmade) until() time.Time                            { return time.Time{} }
func (unmade) remaining() time.Duration                    { return 0 }
func (unmade) count() int                                  { return 0 }
func (unmade) enter(context.Context) (*Hold, error)        { return nil, errNoHold }
func (unmade) extend(context.Context, time.Duration) error { return errNoHold }
func (unmade) downgrade(context.Context) error             { return errNoHold }
func (unmade) unlock(context.Context) error                { return errNoHold }

func (unmade) window() *window {
	w := new(window)
	w.open(context.Background(), false, nil)
	w.cancel(errNoHold)
	return w
}

// take takes the locks of items, and returns one Hold for each name. With bound, the context of a Hold
// for two items ends with ctx.
func take(ctx context.Context, items []item, wait, bound bool) ([]*Hold, error) {
	for i := range items[1:] {
		if items[i].name == items[i+1].name {
			if err := items[i].apart(items[i+1].set); err != nil {
				return nil, err
			}
		}
	}
	for {
		if ctx.Err() != nil { // or what the client keeps would be taken over
			return nil, poll.Fail(items[0].op(), items[0].name, poll.Ended(ctx))
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

// join makes one Hold of those that have the same name. Each of them reports it if that becomes garbage.
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
		return multilock.Join(ctx, p[0].its().about(), p[1].its().about())
	}))
}

// pause lets some time pass before masters are asked anew that did not agree, or whose votes did not last.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}
