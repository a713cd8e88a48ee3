package redlock

import (
	"context"
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
	return s.do(ctx, want{name: name, shared: true}, fn)
}
