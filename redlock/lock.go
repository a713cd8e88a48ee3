package redlock

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/poll"
)

// Lock locks name, and waits until it is locked or ctx ends. A watchdog renews the hold every third
// of Config.Lease, until Unlock, or for Config.MaxHold. A name has 1 to 1024 bytes and must not
// begin like the library's own keys: with redlock_fence:, redlock_wait:, redlock_turn:,
// redlock_forced:, redlock_read:, redlock_slot:, redlock_client: or redlock_sets.
//
// It also waits through an outage of the masters, and logs why; ctx's deadline bounds the wait. It
// returns ErrNoQuorum at once when so many masters report an error that does not pass by itself (a
// wrong password, a key that is no lock) that no majority is left; docs/troubleshooting.md has the list.
// Callers of one client are served in the order of their calls; callers of several clients in the
// order in which they began to wait, by the masters' clocks.
//
// When ctx ends, the error matches ctx's error, and ErrTaken or ErrNoQuorum, depending on what Lock
// waited for; nothing is left on any reachable master. ErrClosed: the client was closed.
//
// Under the context of a hold of the same name, or of its owner (see [WithOwner]), Lock enters that
// hold again, and the watchdog renews it until Unlock even if it had a fixed lease. Under the context
// of a hold of another name, the caller is a new owner.
//
// Cost: when the lock is free, one round trip to the slowest master of the fastest majority. When
// it is taken, one message after the holder's Unlock, and until then one script call on each master
// every 200 to 400 ms plus a round trip, for all callers of the client that wait for name together:
// every second while the client itself has it, up to every 1.6 s while more than a few clients are
// before it.
// Source: docs/how-it-works.md, "Acquire" and "Waiting".
func (c *Client) Lock(ctx context.Context, name string) (*Hold, error) {
	return c.lock(ctx, want{name: name, watch: true, wait: true})
}

// TryLock is Lock without waiting: ErrTaken when another owner has name, ErrNoQuorum
// when too few masters answer within Config.NodeTimeout.
//
// If several clients try at the same time and none gets a majority, the lock is free. TryLock then
// tries again after some random milliseconds, a few times at most.
func (c *Client) TryLock(ctx context.Context, name string) (*Hold, error) {
	return c.lock(ctx, want{name: name, watch: true})
}

// LockFor is Lock with a fixed lease that is not renewed: the hold ends when the lease is over.
// lease is in whole milliseconds, rounded down, and at most Config.MaxLease. If another Unlock
// handed the lock over, the lease starts up to 20 ms after LockFor returns.
//
// If it enters a hold that another Hold has renewed, it lasts as long as that one is not unlocked, and
// up to Config.Lease longer.
func (c *Client) LockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return c.lock(ctx, want{name: name, lease: lease, wait: true})
}

// TryLockFor is TryLock with a fixed lease: see LockFor.
func (c *Client) TryLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return c.lock(ctx, want{name: name, lease: lease})
}

// Do locks name like Lock, runs fn, and unlocks name, even if fn panics.
//
// The context of fn ends when ctx does and, with a cause that matches ErrLost, when the
// hold is lost. Do returns fn's error joined with that of Unlock, so it matches ErrLost
// if fn ended without the lock.
func (c *Client) Do(ctx context.Context, name string, fn func(context.Context) error) error {
	return do(ctx, c, want{name: name}, fn)
}

// do is Do for what w wants of at.
func do(ctx context.Context, at where, w want, fn func(context.Context) error) (err error) {
	w.watch, w.wait, w.bind = true, true, true
	hold, err := at.lock(ctx, w)
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

// want is what a caller wants.
type want struct {
	name    string
	shared  bool // with other readers
	permits int  // above 0: one of so many
	watch   bool // the watchdog renews the hold, with the lease of Config
	lease   time.Duration
	wait    bool // until it is free
	bind    bool // the hold's context ends with the caller's
}

// op is what its errors say was done.
func (w *want) op() string {
	if w.permits > 0 {
		return "acquire"
	}
	return "lock"
}

// lock implements every variant: waiting or not, leases, readers, permits.
func (c *Client) lock(ctx context.Context, w want) (*Hold, error) {
	if err := c.check(ctx, &w); err != nil {
		return nil, err
	}
	e, req := c.request(ctx, w)
	return e.locked(c.masters.Lock(ctx, req))
}

// check fills in the lease of w, and refuses what cannot begin.
func (c *Client) check(ctx context.Context, w *want) error {
	if err := checkName(w.name); err != nil {
		return err
	}
	if w.watch {
		w.lease = c.cfg.Lease
	}
	if err := c.cfg.checkLease("lease", w.lease); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return poll.Fail(w.op(), w.name, poll.Ended(ctx))
	}
	return nil
}

// request returns what is asked of the masters for w, and the entry that it is for.
func (c *Client) request(ctx context.Context, w want) (*entry, multilock.Request) {
	owner := c.owner(ctx, w.name)
	e := c.newEntry(ctx, w, owner)
	return e, multilock.Request{
		Key:     w.name,
		Shared:  w.shared,
		Permits: w.permits,
		Lease:   w.lease.Truncate(time.Millisecond),
		Wait:    w.wait,
		Watch:   w.watch,
		Limit:   c.cfg.MaxHold,
		Owner:   owner,
		Entry:   e,
	}
}
