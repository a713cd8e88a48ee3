package redlock

import (
	"context"
	"time"
)

// RLock locks name for reading, and waits until it is locked or ctx ends: any number of readers may
// hold a name together, but none beside the holder of a [Client.Lock]. Otherwise it is like Lock,
// errors included.
//
// Readers and writers are served in the order in which they began to wait. A reader behind a
// waiting writer waits too, so neither side starves the other; readers that wait one behind the
// other are let in together. Each reader has a lease of its own: one that dies keeps writers
// waiting only until that lease ends.
//
// The token of a reader (see [Hold.Token]) is at least that of every earlier writer and below that
// of every later one; readers may share it. So a resource that refuses a number smaller than one it
// has seen also refuses a reader that does not know yet that it has lost the lock to a writer.
//
// Under the context of a hold of the same name, or of its owner (see [WithOwner]), RLock enters that
// hold again: a reader's, or a writer's, which stays exclusive. Lock under a reader's is ErrUpgrade at
// once: two readers that both became writers would wait for each other forever.
//
// Cost: that of Lock. The readers of one client ask for themselves, each with its own script calls.
// Source: docs/how-it-works.md, "Readers".
func (c *Client) RLock(ctx context.Context, name string) (*Hold, error) {
	return c.lock(ctx, want{name: name, shared: true, watch: true, wait: true})
}

// TryRLock is RLock without waiting: ErrTaken when a writer has name, or when readers have it and a
// writer waits; ErrNoQuorum when too few masters answer within Config.NodeTimeout.
func (c *Client) TryRLock(ctx context.Context, name string) (*Hold, error) {
	return c.lock(ctx, want{name: name, shared: true, watch: true})
}

// RLockFor is RLock with a fixed lease: see [Client.LockFor].
func (c *Client) RLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return c.lock(ctx, want{name: name, shared: true, lease: lease, wait: true})
}

// TryRLockFor is TryRLock with a fixed lease: see [Client.LockFor].
func (c *Client) TryRLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return c.lock(ctx, want{name: name, shared: true, lease: lease})
}

// RDo is [Client.Do] with RLock: it locks name, runs fn, and unlocks name.
func (c *Client) RDo(ctx context.Context, name string, fn func(context.Context) error) error {
	return do(ctx, c, want{name: name, shared: true}, fn)
}

// Shared reports whether the hold is a reader's: from RLock, or by Downgrade. RLock under the
// context of a writer's hold enters that hold, so the Hold that it returns is not shared.
func (h *Hold) Shared() bool { return h.h.Shared() }

// Downgrade turns a hold of [Client.Lock] into one of RLock, with no moment in between at which
// another writer could have the name. From then on, all Holds that share the lock are readers'.
// They keep their token, and are unlocked as before. Waiting readers are let in. There is no way
// back: see ErrUpgrade.
//
// It renews the hold, as [Hold.Extend] with the lease that it was taken with, and returns when a
// majority of the masters confirmed it. A hold that is a reader's already is only renewed.
//
// ErrLost: the hold has ended, or a majority no longer has it. ErrNoQuorum: too few masters answered;
// the hold is a reader's all the same, but readers may have to wait until a renewal reaches a
// majority. ErrNotHeld: it was unlocked. A permit cannot be downgraded.
//
// Cost: one round trip. Source: docs/how-it-works.md, "Readers".
func (h *Hold) Downgrade(ctx context.Context) error {
	if h.pair != nil {
		return h.pair.both(func(h *Hold) error { return h.Downgrade(ctx) })
	}
	return h.h.Downgrade(ctx, h.e)
}
