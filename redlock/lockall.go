package redlock

import (
	"context"
	"time"

	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock"
)

// LockAll locks several names at once, and waits until all are locked or ctx ends. The options are those of
// [Client.Lock], but for Permits. A watchdog renews the holds as it does for Lock. A name that is given twice is locked
// once. At most 64 names.
//
// Callers of LockAll never wait for each other in a circle, whatever order they give the names in:
// all take them in the order of their bytes. A caller that holds names and locks more, with any
// method, must keep to that order too, or bound the wait.
//
// While LockAll waits for a name, it holds those before it in the order, and none after it. It renews them meanwhile:
// about two thirds of a fixed lease are left when it returns, or half if masters were away, and [Config.MaxHold] counts
// from then on. If one of them is lost, LockAll starts over, and keeps its place in the queues. The error is that of
// [Client.Lock] for the name that it waited for, and says which name that is; nothing is left on any reachable master.
//
// ErrHeld: a hold around ctx has one of the names already. Under [WithOwner] it is entered again.
//
// Cost: one round trip to the slowest of the masters' majorities when all names are free. Each name
// that is taken adds the wait for it, and one round trip for those behind it. Each master gets the script calls that
// Lock makes for each name, in one write.
// Source: docs/how-it-works.md, "Several names".
func (c *Client) LockAll(ctx context.Context, names []string, options ...Option) (*Holds, error) {
	return c.lockAll(ctx, names, options, true)
}

// TryLockAll is LockAll without waiting: the error is that of [Client.TryLock] for the first of the
// names that could not be locked, or matches ErrLost: one of them was lost before all were locked. If several callers
// try for the same names at the same time, it may be that none of them gets all.
func (c *Client) TryLockAll(ctx context.Context, names []string, options ...Option) (*Holds, error) {
	return c.lockAll(ctx, names, options, false)
}

func (c *Client) lockAll(ctx context.Context, names []string, options []Option, wait bool) (*Holds, error) {
	items, err := c.inOrder(ctx, names, options)
	if err == nil {
		err = c.admit(ctx, items)
	}
	var holds []*Hold
	if err == nil {
		holds, err = take(ctx, items, wait, false)
	}
	if err != nil {
		return nil, outward(err)
	}
	return &Holds{holds, around(ctx, false, nil, holds...)}, nil
}

// Holds are several locks that a caller holds together: see [Client.LockAll].
type Holds struct {
	holds []*Hold // by the bytes of their names
	ctx   *window
}

// Names returns the names that are locked, in the order of their bytes.
func (h *Holds) Names() []string {
	names := make([]string, len(h.holds))
	for i, one := range h.holds {
		names[i] = one.Name()
	}
	return names
}

// Hold returns the hold of name, or nil if name is not among the names. Ask it for the fencing
// token, and to enter the lock again. Unlocking it by itself ends the context of all.
func (h *Holds) Hold(name string) *Hold {
	for _, one := range h.holds {
		if one.Name() == name {
			return one
		}
	}
	return nil
}

// Context returns a context for the work that the locks protect: see [Hold.Context]. It ends with
// the first of them, with that one's cause. [Token] finds no token in it, since each name has its
// own.
func (h *Holds) Context() context.Context { return h.ctx.made() }

// Remaining returns how much validity is left of the lock that ends first: see [Hold.Remaining].
func (h *Holds) Remaining() time.Duration { return least(h.ctx, (*multilock.Hold).Remaining) }

// Extend extends all locks, as [Hold.Extend] does. The error joins theirs.
//
// Cost: one round trip. Source: docs/how-it-works.md, "Renew".
func (h *Holds) Extend(ctx context.Context, lease time.Duration) error {
	return h.each(func(one *Hold) error { return one.Extend(ctx, lease) })
}

// Unlock gives all locks back at once. The error joins those of [Hold.Unlock].
//
// Cost: one round trip. Source: docs/how-it-works.md, "Release".
func (h *Holds) Unlock(ctx context.Context) error {
	ctx, cancel := h.ctx.made().unlocking(ctx)
	defer cancel()
	return h.each(func(one *Hold) error { return one.Unlock(ctx) })
}

// each runs f for all holds at the same time, and joins the errors.
func (h *Holds) each(f func(*Hold) error) error {
	if len(h.holds) == 0 {
		return errNoHold
	}
	return joined(beside.All(h.holds, f))
}
