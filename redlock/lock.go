package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"example.com/redlock/multilock"
)

// Lock waits until name, of 1 to 1024 bytes, is locked or ctx ends. A watchdog renews
// the hold every third of Config.Lease, until Unlock, or for Config.MaxHold. A name must not
// begin as the library's own keys do: redlock_fence:, redlock_wait:, redlock_turn: or
// redlock_forced:.
//
// It waits through an outage of the masters as well, and tells Config.Logger why; ctx's deadline
// bounds the wait. It returns at once, with ErrNoQuorum, when so many masters report an error
// that does not pass by itself that no majority is left: a wrong password, a key that is no lock
// (docs/operations.md has the list). Callers of one client are served in the order of their
// calls; those of several clients in the order that the masters' clocks give.
//
// When ctx ends, the error matches its error, and ErrTaken or ErrNoQuorum for what Lock waited
// for, and nothing is left on any master that can be reached. ErrClosed: the client was closed.
//
// Under the context of a hold of the same name, or of its owner (see [WithOwner]), Lock
// enters that hold again, and the watchdog renews it even if it had a fixed lease.
//
// Cost: one round trip to the slowest of the fastest majority, when the lock is free. When it is
// not, one message after the Unlock of the holder before, and meanwhile one script call on each
// master every 200 to 400 ms plus a round trip, for all callers of the client that wait for name.
// Source: docs/algorithm.md, "Acquire" and "Waiting".
func (c *Client) Lock(ctx context.Context, name string) (*Hold, error) {
	return c.lock(ctx, want{name: name, lease: c.cfg.Lease, watch: true, wait: true})
}

// TryLock is Lock without waiting: ErrTaken when another owner has name, ErrNoQuorum
// when too few masters answer within Config.NodeTimeout.
//
// Where several clients try at the same time and none gets a majority, the lock is
// free: TryLock tries again then, a few times, after some random milliseconds.
func (c *Client) TryLock(ctx context.Context, name string) (*Hold, error) {
	return c.lock(ctx, want{name: name, lease: c.cfg.Lease, watch: true})
}

// LockFor is Lock with a fixed lease, which nothing renews: the hold ends when it has
// passed. lease is in whole milliseconds, rounded down, and at most Config.MaxLease. For a
// lock that another client handed over, it counts from up to 20 ms after the return.
func (c *Client) LockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return c.lock(ctx, want{name: name, lease: lease, wait: true})
}

// TryLockFor is TryLock with a fixed lease, as LockFor takes it.
func (c *Client) TryLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return c.lock(ctx, want{name: name, lease: lease})
}

// Do runs fn while name is locked, as by Lock, and unlocks it, also when fn panics.
//
// The context of fn ends when ctx does and, with a cause that matches ErrLost, when the
// hold is lost. Do returns fn's error joined with that of Unlock, so it matches ErrLost
// if fn ended without the lock.
func (c *Client) Do(ctx context.Context, name string, fn func(context.Context) error) (err error) {
	hold, err := c.lock(ctx, want{name: name, lease: c.cfg.Lease, watch: true, wait: true, bind: true})
	if err != nil {
		return err
	}
	defer func() {
		// What fn says of a loss, by the cause of its context, is not to be said twice.
		if lost := hold.Unlock(context.WithoutCancel(ctx)); lost != nil && !errors.Is(err, lost) {
			err = errors.Join(err, lost)
		}
	}()
	return fn(hold.Context())
}

// want is what a caller wants of lock.
type want struct {
	name  string
	lease time.Duration
	watch bool // the watchdog renews the hold
	wait  bool // until it is free
	bind  bool // the hold's context ends with the caller's

	owner *owner // of the caller's context, nil if it has none
}

// How often TryLock tries a lock that nobody got, and how long it waits at most after the first
// time, beside a round trip at most. Each further wait is up to twice as long, so that owners who meet
// again and again part soon.
const (
	maxSplits  = 6
	splitDelay = 8 * time.Millisecond
)

func (c *Client) lock(ctx context.Context, w want) (*Hold, error) {
	if err := checkName(w.name); err != nil {
		return nil, err
	}
	if err := c.cfg.checkLease("lease", w.lease); err != nil {
		return nil, err
	}
	w.lease = w.lease.Truncate(time.Millisecond)
	if ctx.Err() != nil {
		return nil, multilock.Fail("lock", w.name, multilock.Ended(ctx))
	}
	c.masters.Greet(ctx)
	w.owner = ownerOf(ctx)
	if w.wait {
		return c.queue(ctx, w)
	}
	if hold, err := c.enter(ctx, w); hold != nil || err != nil {
		return hold, err
	}
	for split := 0; ; split++ {
		hold, err := c.try(ctx, w)
		var majority *MajorityError
		if !errors.As(err, &majority) || !majority.Split() || split == maxSplits-1 {
			return hold, err
		}
		select {
		case <-time.After(time.Millisecond + rand.N(splitDelay<<split+c.masters.RoundTrip())):
		case <-ctx.Done():
			return nil, majority.With(multilock.Ended(ctx))
		case <-c.done:
			return nil, ErrClosed
		}
	}
}

// queue waits for the caller's turn, and then for the lock.
func (c *Client) queue(ctx context.Context, w want) (*Hold, error) {
	t := c.join(w)
	defer c.leave(t)
	wait := wait{c: c, t: t}
	for ok := true; ok; {
		hold, err := c.enter(ctx, w)
		if hold != nil {
			return hold, nil
		}
		if why, unsure := errors.AsType[*MajorityError](err); unsure {
			ok = wait.pause(ctx, why)
			continue
		}
		wait.entry = nil
		if err != nil {
			return nil, err
		}
		if !t.isFirst() {
			ok = wait.turn(ctx)
			continue
		}
		if h := c.holding(w.name); h != nil {
			ok = wait.local(ctx, h)
			continue
		}
		var grant multilock.Grant
		var won bool
		if grant, won, ok = wait.bid(ctx); won {
			c.won(t)
			hold := c.hold(ctx, w, grant)
			c.tries.Done() // not before the hold is one that Close finds
			return hold, nil
		}
	}
	return nil, wait.err(ctx)
}

// enter enters the hold that the caller's owner has of the name, if it has one.
func (c *Client) enter(ctx context.Context, w want) (*Hold, error) {
	for w.owner != nil {
		h := w.owner.held(c, w.name)
		if h == nil {
			break
		}
		hold, err := h.enter(ctx, w)
		if !errors.Is(err, errEnded) {
			return hold, err
		}
		// It ended meanwhile, and the owner has forgotten it or will in a moment.
		select {
		case <-h.ended():
		case <-ctx.Done():
			return nil, multilock.Fail("lock", w.name, multilock.Ended(ctx))
		}
	}
	return nil, nil
}

// try asks the masters for the lock, once.
func (c *Client) try(ctx context.Context, w want) (*Hold, error) {
	if !c.begin() {
		return nil, ErrClosed
	}
	defer c.tries.Done()
	grant, err := c.masters.Acquire(multilock.Request{
		Owner:    c.masters.NewOwner(w.name),
		Lease:    w.lease,
		Count:    1,
		Proposal: c.masters.Now().UnixMicro(),
	}).Wait(ctx)
	if err != nil {
		return nil, err
	}
	return c.hold(ctx, w, grant), nil
}
