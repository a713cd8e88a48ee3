package redlock

import (
	"context"
	"errors"
	"time"
)

// Lock locks name in its set: see [Client.Lock].
func (s *Sets) Lock(ctx context.Context, name string) (*Hold, error) {
	return s.lock(ctx, want{name: name, watch: true, wait: true})
}

// TryLock is Lock without waiting: see [Client.TryLock].
func (s *Sets) TryLock(ctx context.Context, name string) (*Hold, error) {
	return s.lock(ctx, want{name: name, watch: true})
}

// LockFor is Lock with a fixed lease: see [Client.LockFor].
func (s *Sets) LockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return s.lock(ctx, want{name: name, lease: lease, wait: true})
}

// TryLockFor is TryLock with a fixed lease.
func (s *Sets) TryLockFor(ctx context.Context, name string, lease time.Duration) (*Hold, error) {
	return s.lock(ctx, want{name: name, lease: lease})
}

// Do locks name, runs fn, and unlocks name: see [Client.Do].
func (s *Sets) Do(ctx context.Context, name string, fn func(context.Context) error) error {
	return do(ctx, s, want{name: name}, fn)
}

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

func (s *Sets) lock(ctx context.Context, w want) (*Hold, error) {
	at := s.at(w.name)
	if w.permits > 0 || !s.enters(ctx, w.name) {
		if err := s.admit(ctx, w.name); err != nil {
			return nil, err
		}
	}
	if len(at) == 1 {
		return at[0].lock(ctx, w)
	}
	items := make([]item, len(at))
	for i, c := range at {
		it := item{c, w}
		it.wait, it.bind = false, false // that is for both together
		if err := c.check(ctx, &it.want); err != nil {
			return nil, err
		}
		items[i] = it
	}
	holds, err := take(ctx, items, w.wait, w.bind)
	if err != nil {
		return nil, err
	}
	return holds[0], nil
}

// Name returns name in its set, to be locked together with other names: see [LockAll].
func (s *Sets) Name(name string) Name { return Name{s.at(name), name, s} }

// LockAll locks several names at once, each in its set. It is the same as the function [LockAll] with
// the Name of each.
func (s *Sets) LockAll(ctx context.Context, names ...string) (*Holds, error) {
	return LockAll(ctx, named(names, s.Name)...)
}

// TryLockAll is LockAll without waiting: see the function [TryLockAll].
func (s *Sets) TryLockAll(ctx context.Context, names ...string) (*Holds, error) {
	return TryLockAll(ctx, named(names, s.Name)...)
}

// Inspect says who has name in its set: see [Client.Inspect]. A name that moves is looked up in both
// sets: it is held if it is in one of them, and the readers and the masters are those of both, one set after
// the other. A reader of both sets is there twice, with an owner in each.
func (s *Sets) Inspect(ctx context.Context, name string) (Inspection, error) {
	at := s.at(name)
	in, err := at[0].Inspect(ctx, name)
	for _, c := range at[1:] {
		other, failed := c.Inspect(ctx, name)
		if !in.Held {
			in.Held, in.Holder, in.Client, in.For = other.Held, other.Holder, other.Client, other.For
		}
		in.Left = max(in.Left, other.Left)
		in.Readers, in.Masters = append(in.Readers, other.Readers...), append(in.Masters, other.Masters...)
		err = errors.Join(err, failed)
	}
	return in, err
}

// ForceUnlock frees name in its set, whoever has it: see [Client.ForceUnlock]. A name that moves is
// freed in both sets.
func (s *Sets) ForceUnlock(ctx context.Context, name string) (freed bool, err error) {
	for _, c := range s.at(name) {
		one, failed := c.ForceUnlock(ctx, name)
		freed, err = freed || one, errors.Join(err, failed)
	}
	return freed, err
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

// forcePermits frees all permits in both sets of a name that moves, but a slot in the first set alone where
// somebody has it: in the other its number is that of somebody else's permit.
func (s *Sets) forcePermits(ctx context.Context, name string, slot int) (freed bool, err error) {
	for _, c := range s.at(name) {
		one, failed := c.forcePermits(ctx, name, slot)
		freed, err = freed || one, errors.Join(err, failed)
		if slot >= 0 && (freed || err != nil) {
			break
		}
	}
	return freed, err
}
