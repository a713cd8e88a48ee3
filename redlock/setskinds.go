package redlock

import (
	"context"
	"errors"
	"time"
)

// RLock locks name for reading in its set: see [Client.RLock].
func (s *Sets) RLock(ctx context.Context, name string) (*Hold, error) {
	return s.lock(ctx, want{name: name, shared: true, watch: true, wait: true})
}

// TryRLock is RLock without waiting: see [Client.TryRLock].
func (s *Sets) TryRLock(ctx context.Context, name string) (*Hold, error) {
	return s.lock(ctx, want{name: name, shared: true, watch: true})
}

// RLockFor is RLock with a fixed lease: see [Client.LockFor].
func (s *Sets) RLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return s.lock(ctx, want{name: name, shared: true, lease: lease, wait: true})
}

// TryRLockFor is TryRLock with a fixed lease.
func (s *Sets) TryRLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return s.lock(ctx, want{name: name, shared: true, lease: lease})
}

// RDo locks name for reading, runs fn, and unlocks name: see [Client.RDo].
func (s *Sets) RDo(ctx context.Context, name string, fn func(context.Context) error) error {
	return do(ctx, s, want{name: name, shared: true}, fn)
}

// Semaphore returns the semaphore name with so many permits, in the set of name: see
// [Client.Semaphore].
//
// A permit of a name that moves is one in each of its two sets: never more than so many are held, in
// whichever sets others look for them. Its Slot and Token are those in the first of [Sets.SetsOf]. They
// cannot be compared with those of permits that are taken in the other set alone, so a resource that
// depends on them is better given a new name.
func (s *Sets) Semaphore(name string, permits int) *Semaphore { return &Semaphore{s, name, permits} }

func (s *Sets) inspectPermits(ctx context.Context, name string) (in SemaphoreInspection, err error) {
	in.Name = name
	for _, c := range s.at(name) {
		one, failed := c.inspectPermits(ctx, name)
		in.Slots, in.Masters = append(in.Slots, one.Slots...), append(in.Masters, one.Masters...)
		err = errors.Join(err, failed)
	}
	return in, err
}

func (s *Sets) forcePermits(ctx context.Context, name string, slot int) (freed bool, err error) {
	return s.force(name, func(c *Client) (bool, error) { return c.forcePermits(ctx, name, slot) })
}
