package redlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/redlock/multilock"
)

// pair is a lock that is held in two sets of masters: see [SetsConfig]. Its Hold has the owner and the
// slot of the first, and the token that both sets have agreed on.
type pair struct {
	first, second *Hold
	ctx           *group
}

// newPair makes one Hold of two. Each of them reports it if the Hold becomes garbage.
func newPair(ctx context.Context, bound bool, first, second *Hold) *Hold {
	return &Hold{h: first.h, e: first.e, pair: &pair{first, second, newGroup(ctx, bound, first.e, first, second)}}
}

// both runs f for both holds at the same time, and joins the errors.
func (p *pair) both(f func(*Hold) error) error {
	var first, second error
	var wg sync.WaitGroup
	wg.Go(func() { first = f(p.first) })
	second = f(p.second)
	wg.Wait()
	switch {
	case first == nil:
		return second
	case second == nil || second.Error() == first.Error():
		return first
	}
	return errors.Join(first, second)
}

// unlock gives both back.
func (p *pair) unlock(ctx context.Context) error {
	ctx = p.ctx.unlocking(ctx)
	return p.both(func(h *Hold) error { return h.Unlock(ctx) })
}

// until returns the end of the validity that ends first.
func (p *pair) until() time.Time {
	first, second := p.first.Until(), p.second.Until()
	if second.Before(first) {
		return second
	}
	return first
}

// take takes the locks of items, and returns one Hold for each name. With bound, the context of a Hold
// for two items ends with ctx.
func take(ctx context.Context, items []item, wait, bound bool) ([]*Hold, error) {
	for {
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
		case errors.Is(err, ErrLost): // start over
		case !wait || ctx.Err() != nil || errors.Is(err, ErrClosed):
			return nil, err
		default:
			pause(ctx)
		}
	}
}

// join makes one Hold of those that have the same name.
func join(ctx context.Context, bound bool, holds []*Hold) ([]*Hold, error) {
	all := make([]*Hold, 0, len(holds))
	errs := make([]error, len(holds))
	var wg sync.WaitGroup
	for i, h := range holds {
		if i == 0 || holds[i-1].Name() != h.Name() {
			all = append(all, h)
			continue
		}
		first := holds[i-1]
		all[len(all)-1] = newPair(ctx, bound, first, h)
		wg.Go(func() { errs[i] = multilock.Join(ctx, first.h, h.h) })
	}
	wg.Wait()
	return all, errors.Join(errs...)
}

// pause lets some time pass before masters that did not agree are asked anew.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}
