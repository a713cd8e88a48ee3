package redlock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/multilock/poll"
)

// Do locks name as [Client.Lock] does, runs fn, and unlocks name, even if fn panics.
//
// The context of fn ends when ctx does and, with a cause that matches ErrLost, when the hold is lost, which is
// before another client can have it: fn needs to look at one context only. Do returns fn's error joined with that of
// Unlock: if fn ended without the lock, the error matches ErrLost, or ErrClosed where [Client.Close] gave it back, and
// what fn returned as well, such as context.Canceled. [Token] finds the fencing token in fn's context.
//
// Cost: that of Lock and Unlock.
func (c *Client) Do(ctx context.Context, name string, fn func(context.Context) error, options ...Option) (err error) {
	hold, err := c.lock(ctx, name, options, true, true)
	if err != nil {
		return err
	}
	defer func() {
		// fn may return the loss, as the cause of its context: do not report it twice.
		if lost := hold.Unlock(context.WithoutCancel(ctx)); lost != nil && !errors.Is(err, lost) {
			err = errors.Join(err, lost)
		}
	}()
	return fn(hold.Context())
}

// Lock locks name, and waits until it is locked or ctx ends: see [Client.Do] for a lock around a function. A
// watchdog renews the hold every third of [Config.Lease], until Unlock, or for [Config.MaxHold]. [Shared] locks for
// reading, [Lease] for a fixed time, and [Permits] takes one of so many.
//
// A name has 1 to 1024 bytes with [Config.Prefix], and must not begin like the library's own keys: with redlock_fence:, redlock_wait:,
// redlock_turn:, redlock_forced:, redlock_read:, redlock_slot:, redlock_client: or redlock_sets.
//
// Lock also waits through an outage of the masters, and logs why; ctx's deadline bounds the wait. It
// returns ErrNoQuorum at once when so many masters report an error that does not pass by itself (a
// wrong password, a key that is no lock) that no majority is left; docs/troubleshooting.md has the list.
// Callers of one client are served in the order of their calls; callers of several clients in the
// order in which they began to wait, by the masters' clocks.
//
// When ctx ends, the error matches ctx's error, and ErrTaken or ErrNoQuorum, depending on what Lock
// waited for; nothing is left on any reachable master. ErrClosed: the client was closed.
//
// Under the context of a hold of the same name, Lock would wait for itself. So it returns ErrHeld, at once and
// at no cost: [Hold.Enter] enters a hold again, and under [WithOwner] Lock does.
//
// Cost: when the lock is free, one round trip to the slowest master of the fastest majority. When
// it is taken, one message after the holder's Unlock, and until then one script call on each master
// every 200 to 400 ms plus a round trip, for all callers of the client that wait for name together:
// every second while the client itself has it, up to every 3.2 s while more than a few clients are
// before it.
// Source: docs/how-it-works.md, "Acquire" and "Waiting".
func (c *Client) Lock(ctx context.Context, name string, options ...Option) (*Hold, error) {
	return c.lock(ctx, name, options, true, false)
}

// TryLock is Lock without waiting: ErrTaken when another owner has name, ErrNoQuorum
// when too few masters answer within Config.NodeTimeout, or before ctx ends. ErrHeld: as of Lock.
//
// If several clients try at the same time and none gets a majority, the lock is free. TryLock then
// tries again after some random milliseconds, a few times at most.
//
// Cost: one round trip to the slowest master of the fastest majority; in the first call of a client, also the time to
// connect, and a NodeTimeout or half of ctx's time if a master hangs. The error names the holder's client. To look up one
// that is not known yet takes another round trip, 50 ms at most, with one command and one script call on each master.
func (c *Client) TryLock(ctx context.Context, name string, options ...Option) (*Hold, error) {
	return c.lock(ctx, name, options, false, false)
}

// lock implements every variant. The context of a Hold that is bound ends with ctx, too.
func (c *Client) lock(ctx context.Context, name string, options []Option, wait, bound bool) (*Hold, error) {
	items, err := c.items(ctx, name, options)
	if err == nil {
		err = c.admit(ctx, items)
	}
	switch {
	case err != nil:
		return nil, outward(err)
	case len(items) == 1:
		items[0].req.Wait = wait
		hold, err := items[0].lock(ctx, bound)
		return hold, outward(err)
	}
	holds, err := take(ctx, items, wait, bound)
	if err != nil {
		return nil, outward(err)
	}
	return holds[0], nil
}

// items returns what is to be locked: one item for each set of name. It refuses what cannot begin.
func (c *Client) items(ctx context.Context, name string, options []Option) ([]item, error) {
	want, err := wanted(name, options)
	if err != nil {
		return nil, err
	}
	if err := c.check(name); err != nil {
		return nil, err
	}
	at := c.at(name)
	items := make([]item, len(at))
	for i, s := range at {
		items[i] = item{s, want}
		req := &items[i].req
		if req.Watch {
			req.Lease = s.cfg.Lease
		}
		if err := s.cfg.checkLease("lease", req.Lease); err != nil {
			return nil, err
		}
		req.Lease, req.Limit = req.Lease.Truncate(time.Millisecond), s.cfg.MaxHold
		if err := s.alreadyHeld(ctx, req); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, poll.Fail(items[0].op(), name, poll.Ended(ctx))
	}
	return items, nil
}

// check refuses a client that New did not make, and what no lock can be called.
func (c *Client) check(name string) error {
	if len(c.sets) == 0 {
		return errNoClient
	}
	return checkName(c.prefix, name)
}
