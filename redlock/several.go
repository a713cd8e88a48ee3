package redlock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"example.com/redlock/clock"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/poll"
)

// How several locks are taken together, so that callers never wait for each other in a circle.

// maxNames bounds the names that are locked together. If all of them are taken, each one costs another round trip, in
// which the client asks again for those behind it.
const maxNames = 64

// item is a name that is to be locked in one set.
type item struct {
	*set
	req multilock.Request // without what is the caller's own
}

// op is what errors call the attempt.
func (it *item) op() string {
	if it.req.Permits > 0 {
		return "acquire"
	}
	return "lock"
}

func (it *item) lock(ctx context.Context, bound bool) (*Hold, error) {
	e, req := it.request(ctx, it.req, bound)
	return e.locked(it.masters.Lock(ctx, req))
}

// inOrder returns the items of several names, each once, in the order of their bytes. Every client takes them in this
// order.
func (c *Client) inOrder(ctx context.Context, names []string, options []Option) ([]item, error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	switch {
	case len(c.sets) == 0:
		return nil, errNoClient
	case len(names) == 0:
		return nil, errors.New("redlock: no name to lock")
	case len(names) > maxNames:
		return nil, fmt.Errorf("redlock: %d names are to be locked together, more than %d", len(names), maxNames)
	}
	var items []item
	for _, name := range names {
		of, err := c.items(ctx, name, options)
		if err == nil && of[0].req.Permits > 0 {
			err = errors.New("redlock: Permits are taken one at a time")
		}
		if err != nil {
			return nil, err
		}
		items = append(items, of...)
	}
	return items, nil
}

// take takes the locks of items, which are in order, and returns one Hold for each name. After an error, all are given
// back. With bound, the context of a Hold for two items ends with ctx.
//
// It is tempting to ask for one after the other. But most locks are free, and then one round trip is enough for all. If
// one is taken, take gives back the locks behind it before it waits for that one. So a waiter has only locks that come
// before the one it waits for, and there is no circle. A lock that it asks for again keeps its place in the queue.
func take(ctx context.Context, items []item, wait, bound bool) ([]*Hold, error) {
	for i := range items[1:] {
		if items[i].req.Key == items[i+1].req.Key {
			if err := items[i].apart(items[i+1].set); err != nil {
				return nil, err
			}
		}
	}
	holds := make([]*Hold, len(items))
	kept := 0 // how many were held while take waited for another
	for {
		if wait {
			if err := reach(ctx, items, holds); err != nil {
				return nil, err
			}
		}
		refused, err := len(items)-1, error(nil)
		if missing := slices.Index(holds, nil); missing != refused || !wait { // else it waits for that one at once
			refused, err = tryAll(ctx, items, holds)
		}
		if refused < 0 {
			if err = lost(items, holds); err == nil {
				refill(ctx, items, holds[:kept])
				rewish(items, holds[:kept], false)
				var all []*Hold
				if all, err = join(ctx, bound, holds); err == nil {
					return all, nil
				}
			}
			refused = 0
			if giveBack(ctx, holds); wait {
				pause(ctx)                                            // or the masters would be asked again and again, such as for a lease that is too short
				if ctx.Err() != nil && !errors.Is(err, ErrNoQuorum) { // or what the client keeps would be taken over
					return nil, poll.Fail(items[0].op(), items[0].req.Key, poll.Ended(ctx))
				}
			}
		}
		if why, taken := errors.AsType[*poll.MajorityError](err); !wait || taken && ctx.Err() != nil {
			giveBack(ctx, holds)
			if wait && !errors.Is(err, ctx.Err()) {
				err = why.With(poll.Ended(ctx)) // it ended while other answers were still to come
			}
			return nil, items[refused].masters.Clients.Identify(ctx, err)
		}
		first := slices.Index(holds, nil)
		giveBack(ctx, holds[first:])
		rewish(items, holds[:first], true)
		kept = first
		items[first].req.Since = cmp.Or(items[first].req.Since, clock.Now())
		if holds[first], err = waitFor(ctx, items[:first+1], holds[:first]); err == nil {
			continue
		}
		gone := lost(items, holds[:first])
		giveBack(ctx, holds[:first])
		switch {
		case err == errAway:
			continue
		case gone == nil:
			return nil, err
		case errors.Is(gone, ErrClosed):
			return nil, gone
		}
		pause(ctx)
	}
}

// inSeveral reports whether items are in more than one set.
func inSeveral(items []item) bool {
	return slices.ContainsFunc(items, func(it item) bool { return it.set != items[0].set })
}

// reach waits until the masters of all items can be reached, if the items are in several sets. The caller holds nothing
// while it waits for that.
func reach(ctx context.Context, items []item, holds []*Hold) error {
	if !inSeveral(items) {
		return nil
	}
	for _, it := range items {
		if it.masters.All.Unready(it.op(), it.req.Key) == nil {
			continue
		}
		giveBack(ctx, holds)
		if err := it.masters.All.Reach(ctx, it.op(), it.req.Key); err != nil {
			return it.named(err)
		}
	}
	return nil
}

// tryAll tries all locks that are missing in holds at the same time, those of one set in one write. But a name that is
// locked in two sets is tried in the second one only after the first one granted it, so that one of two callers gets
// both. tryAll returns the place of the first lock that it did not get, and why; -1 if it got all.
func tryAll(ctx context.Context, items []item, holds []*Hold) (refused int, err error) {
	errs := make([]error, len(items))
	for slices.Contains(holds, nil) {
		now := make(map[*set][]int)
		for i, it := range items {
			if holds[i] != nil || i > 0 && items[i-1].req.Key == it.req.Key && holds[i-1] == nil {
				continue
			}
			now[it.set] = append(now[it.set], i)
		}
		var wg sync.WaitGroup
		for s, at := range now {
			wg.Go(func() { s.tryAll(ctx, items, at, holds, errs) })
		}
		wg.Wait()
		for i, err := range errs {
			if err != nil {
				return i, err
			}
		}
	}
	return -1, nil
}

// tryAll tries the items at these places, all of which are in s.
func (s *set) tryAll(ctx context.Context, items []item, at []int, holds []*Hold, errs []error) {
	reqs, entries := make([]multilock.Request, len(at)), make([]*entry, len(at))
	for j, i := range at {
		entries[j], reqs[j] = s.request(ctx, items[i].req, false)
	}
	got, failed := s.masters.TryAll(ctx, reqs)
	for j, i := range at {
		holds[i], errs[i] = entries[j].locked(got[j], items[i].named(failed[j]))
	}
}

// errAway ends a wait in one set, whose masters are away, while the caller has locks in another set.
var errAway = errors.New("redlock: the masters of a set are away")

// waitFor waits for the last of the items for as long as the caller has those before it. If these are in several sets, it
// does not wait while the masters are away: nobody else could have the others meanwhile.
//
// Goroutines: one if the items are in several sets. It ends before waitFor returns.
func waitFor(ctx context.Context, items []item, before []*Hold) (*Hold, error) {
	it := items[len(before)]
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	for _, h := range before {
		defer context.AfterFunc(h.Context(), func() { cancel(context.Cause(h.Context())) })()
	}
	if inSeveral(items) {
		watch.Go(func() {
			if it.masters.All.Away(ctx) {
				cancel(errAway)
			}
		})
	}
	it.req.Wait = true
	hold, err := it.lock(ctx, false)
	if err != nil && context.Cause(ctx) == errAway {
		return nil, errAway
	}
	return hold, it.named(err)
}

// rewish makes the watchdog renew holds as their caller asked for or, while it waits for another lock, without end: the
// wait would use up a fixed lease or Config.MaxHold, and the caller would have to start over.
func rewish(items []item, holds []*Hold, waits bool) {
	for i, h := range holds {
		e, req := h.of.parts[0], items[i].req
		if waits {
			req.Watch, req.Limit = true, 0
		}
		e.hold.Load().Rewish(e, &req)
	}
}

// refill renews fixed leases of which little is left because masters were away during the wait: nothing renews them
// later.
func refill(ctx context.Context, items []item, holds []*Hold) {
	for i, h := range holds {
		if it := items[i]; !it.req.Watch && h.Remaining() < it.req.Lease/2 {
			_ = h.Extend(ctx, it.req.Lease) // otherwise what is left must be enough
		}
	}
}

// named adds the name to an error that has none.
func (it *item) named(err error) error {
	if err == ErrClosed {
		return poll.Fail(it.op(), it.req.Key, err)
	}
	return err
}

// lost returns why one of holds has ended, or nil if none has.
func lost(items []item, holds []*Hold) error {
	for i, h := range holds {
		if h.Context().Err() != nil {
			return poll.Fail(items[i].op(), h.Name(), context.Cause(h.Context()))
		}
	}
	return nil
}

// giveBack releases holds, and clears them. It does not wait for the answers, since each master carries out commands in
// the order in which they were sent.
func giveBack(ctx context.Context, holds []*Hold) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	for _, h := range holds {
		if h != nil {
			_ = h.Unlock(ctx) // the release goes on
		}
	}
	clear(holds)
}
