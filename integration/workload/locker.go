package workload

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

// Locker is a client of package redlock, or stands for one in tests. Its methods may be called by any number of goroutines.
type Locker interface {
	// Ask makes a call of any kind that takes: for names, for a lease that nobody renews if it is LockFor, or for one
	// of so many permits. Of several names it returns a hold of each, and what unlocks all in one call.
	Ask(ctx context.Context, do history.Do, names []string, lease time.Duration, permits int) (
		holds []Hold, unlockAll func(context.Context) error, err error)
	Close() error
}

// Hold is a name, or a permit, that a caller has.
type Hold interface {
	Name() string
	// Slot returns which permit it is, from 1. It is 0 for a lock.
	Slot() int
	// Token returns the fencing token.
	Token() int64
	// Context returns a context that ends with the hold.
	Context() context.Context
	// Until returns when the hold's validity ends, by the wall clock of this process.
	Until() time.Time
	Extend(ctx context.Context) error
	Unlock(ctx context.Context) error
	// Enter enters the hold once more, for reading or not, under ctx, which derives from the hold's
	// context or its owner. same says whether it is the same hold still: if that had ended, it is another.
	// It is not called for permits.
	Enter(ctx context.Context, shared bool) (again Hold, same bool, err error)
	// Downgrade makes a writer a reader.
	Downgrade(ctx context.Context) error
}

// Of returns a client of package redlock as a Locker. Extend is for so long a lease.
func Of(c *redlock.Client, lease time.Duration) Locker { return &locker{c, lease} }

type locker struct {
	*redlock.Client
	lease time.Duration
}

func (l *locker) Ask(ctx context.Context, do history.Do, names []string, lease time.Duration, permits int) (
	holds []Hold, unlockAll func(context.Context) error, err error,
) {
	lock, options, slots := l.Lock, []redlock.Option(nil), 0
	switch do {
	case history.LockAll:
		all, err := l.LockAll(ctx, names)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range all.Names() {
			holds = append(holds, &hold{all.Hold(name), l, 0})
		}
		return holds, all.Unlock, nil
	case history.TryLock, history.TryRLock, history.TryAcquire:
		lock = l.TryLock
	}
	switch do {
	case history.LockFor:
		options = append(options, redlock.Lease(lease))
	case history.RLock, history.TryRLock:
		options = append(options, redlock.Shared())
	case history.Acquire, history.TryAcquire:
		options, slots = append(options, redlock.Permits(permits)), 1
	}
	got, err := lock(ctx, names[0], options...)
	if err != nil {
		return nil, nil, err
	}
	return []Hold{&hold{got, l, slots * (got.Slot() + 1)}}, nil, nil
}

// hold is a lock, or a permit.
type hold struct {
	*redlock.Hold
	locker *locker
	slot   int // of a permit, from 1
}

func (h *hold) Slot() int { return h.slot }

func (h *hold) Extend(ctx context.Context) error { return h.Hold.Extend(ctx, h.locker.lease) }

// Enter locks the name again, which the owner of a tree may, and enters the hold otherwise.
func (h *hold) Enter(ctx context.Context, shared bool) (Hold, bool, error) {
	do := history.Lock
	if shared {
		do = history.RLock
	}
	switch again, _, err := h.locker.Ask(ctx, do, []string{h.Name()}, 0, 0); {
	case err == nil:
		return again[0], again[0].(*hold).Owner() == h.Owner(), nil
	case !errors.Is(err, redlock.ErrHeld) || errors.Is(err, redlock.ErrUpgrade):
		return nil, false, err
	}
	again, err := h.Hold.Enter(ctx)
	if err != nil {
		return nil, false, err
	}
	return &hold{again, h.locker, 0}, true, nil
}
