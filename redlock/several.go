package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.com/redlock/multilock"
)

// How several locks are taken, so that those who do never wait for each other in a circle.

// maxNames bounds the names that are locked together. Where all are taken one after the other, each
// costs another round trip, in which those behind it are asked for again.
const maxNames = 64

// item is one of several locks.
type item struct {
	c *Client
	want
}

// inOrder returns the items of several names: by the bytes of the names, each once. This is the order
// in which they are taken, whoever takes them.
func inOrder(names []Name) ([]item, error) {
	items := make([]item, 0, len(names))
	for _, n := range names {
		if n.client == nil {
			return nil, errors.New("redlock: a Name is made by Client.Name")
		}
		if err := checkName(n.name); err != nil {
			return nil, err
		}
		items = append(items, item{n.client, want{name: n.name, lease: n.client.cfg.Lease, watch: true}})
	}
	slices.SortStableFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	items = slices.CompactFunc(items, func(a, b item) bool { return a.name == b.name && a.c == b.c })
	for i := 1; i < len(items); i++ {
		if items[i].name == items[i-1].name {
			return nil, fmt.Errorf("redlock: %q is to be locked with two clients: a name belongs to one set of masters", items[i].name)
		}
	}
	switch {
	case len(items) == 0:
		return nil, errors.New("redlock: no name to lock")
	case len(items) > maxNames:
		return nil, fmt.Errorf("redlock: %d names are to be locked together, more than %d", len(items), maxNames)
	}
	return items, nil
}

// takeAll takes the locks of items, which are in order.
//
// It is tempting to ask for one after the other. But most locks are free, and all answers come in one
// round trip. What is granted behind a lock that is not is given back before that is waited for. So
// whoever waits has only what comes before it in the order, and there is no circle.
func takeAll(ctx context.Context, items []item, wait bool) ([]*Hold, error) {
	holds := make([]*Hold, len(items))
	for have := 0; ; {
		first, err := tryAll(ctx, items, holds, have)
		if err == nil {
			if err = lost(holds); err == nil {
				return holds, nil
			}
			first = 0
		}
		if !wait || ctx.Err() != nil {
			giveBack(ctx, holds)
			return nil, err
		}
		giveBack(ctx, holds[first:])
		if holds[first], err = waitFor(ctx, items[first], holds[:first]); err == nil {
			have = first + 1
			continue
		}
		gone := lost(holds[:first])
		giveBack(ctx, holds[:first])
		switch {
		case gone == nil || ctx.Err() != nil:
			return nil, err
		case errors.Is(gone, ErrClosed):
			return nil, gone
		}
		have = 0
	}
}

// tryAll tries all locks behind those that it has, at the same time: those of one client share its
// script calls. It returns the first that it did not get, and why not.
func tryAll(ctx context.Context, items []item, holds []*Hold, have int) (first int, err error) {
	errs := make([]error, len(items))
	var wg sync.WaitGroup
	for i := have; i < len(items); i++ {
		c := items[i].c
		same := func(it item) bool { return it.c == c }
		if slices.ContainsFunc(items[have:i], same) {
			continue
		}
		try := func() { c.tryAll(ctx, items[i:], holds[i:], errs[i:]) }
		if slices.ContainsFunc(items[i:], func(it item) bool { return it.c != c }) {
			wg.Go(try)
		} else {
			try()
		}
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			return i, err
		}
	}
	return 0, nil
}

// tryAll tries the items of c.
func (c *Client) tryAll(ctx context.Context, items []item, holds []*Hold, errs []error) {
	reqs, entries, at := make([]multilock.Request, 0, len(items)), make([]*entry, 0, len(items)), make([]int, 0, len(items))
	for i, it := range items {
		if it.c == c {
			e, req := c.request(ctx, it.want)
			reqs, entries, at = append(reqs, req), append(entries, e), append(at, i)
		}
	}
	got, failed := c.masters.TryAll(ctx, reqs)
	for j, i := range at {
		holds[i], errs[i] = entries[j].locked(got[j], named(items[i].name, failed[j]))
	}
}

// waitFor waits for one lock, as long as it has those before it.
func waitFor(ctx context.Context, it item, before []*Hold) (*Hold, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, h := range before {
		defer context.AfterFunc(h.Context(), func() { cancel(context.Cause(h.Context())) })()
	}
	it.wait = true
	hold, err := it.c.lock(ctx, it.want)
	return hold, named(it.name, err)
}

// named returns the error of a lock with its name.
func named(name string, err error) error {
	if err == ErrClosed {
		return multilock.Fail("lock", name, err)
	}
	return err
}

// lost returns why the first of holds that has ended has, nil if all go on.
func lost(holds []*Hold) error {
	for _, h := range holds {
		if h.Context().Err() != nil {
			return multilock.Fail("lock", h.Name(), context.Cause(h.Context()))
		}
	}
	return nil
}

// giveBack releases holds, and clears them. It does not wait for the answers: each master carries out
// what it is sent later after that.
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
