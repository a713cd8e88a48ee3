package redlock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/poll"
)

// A lock that is held in two sets of masters, see [SetsConfig], is a Hold that has one in each: its pair.
// It has the owner and the slot of the first, and the token that both sets have agreed on.

// both runs f for both holds of a pair at the same time, and joins the errors. What both say is said once.
func (h *Holds) both(f func(*Hold) error) error {
	errs := atOnce(h.holds, f)
	switch first, second := errs[0], errs[1]; {
	case first == nil:
		return second
	case second == nil || second.Error() == first.Error():
		return first
	}
	return errors.Join(errs...)
}

// take takes the locks of items, and returns one Hold for each name. With bound, the context of a Hold
// for two items ends with ctx.
func take(ctx context.Context, items []item, wait, bound bool) ([]*Hold, error) {
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
		case errors.Is(err, ErrLost): // start over
		case !wait || ctx.Err() != nil || errors.Is(err, ErrClosed):
			return nil, err
		default:
			pause(ctx)
		}
	}
}

// join makes one Hold of those that have the same name. Each of them reports it if that becomes garbage.
func join(ctx context.Context, bound bool, holds []*Hold) ([]*Hold, error) {
	var all, pairs []*Hold
	for i, h := range holds {
		if i == 0 || holds[i-1].Name() != h.Name() {
			all = append(all, h)
			continue
		}
		first := holds[i-1]
		pair := &Hold{h: first.h, e: first.e, pair: newHolds(ctx, bound, first.e, first, h)}
		all[len(all)-1], pairs = pair, append(pairs, pair)
	}
	return all, errors.Join(atOnce(pairs, func(h *Hold) error {
		return multilock.Join(ctx, h.pair.holds[0].h, h.pair.holds[1].h)
	})...)
}

// pause lets some time pass before masters that did not agree are asked anew.
func pause(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Millisecond)
	defer cancel()
	<-ctx.Done()
}
