package workload

import (
	"context"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

// Locker is a client of package redlock, or stands for one in tests. Its methods may be called by any number of goroutines.
type Locker interface {
	// Ask is the function Ask.
	Ask(ctx context.Context, do history.Do, names []string, lease time.Duration, permits int) (
		holds []Hold, unlockAll func(context.Context) error, err error)
	Close() error
}

// Ask makes a call of any kind that takes: for names, for a lease that nobody renews if it is LockFor, or for
// one of so many permits. Of several names it returns a hold of each, and what unlocks all in one call.
func Ask(ctx context.Context, c *redlock.Client, do history.Do, names []string, lease time.Duration, permits int) (
	holds []*redlock.Hold, unlockAll func(context.Context) error, err error,
) {
	lock, options := c.Lock, []redlock.Option(nil)
	switch do {
	case history.LockAll:
		all, err := c.LockAll(ctx, names)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range all.Names() {
			holds = append(holds, all.Hold(name))
		}
		return holds, all.Unlock, nil
	case history.TryLock, history.TryRLock, history.TryAcquire:
		lock = c.TryLock
	}
	switch do {
	case history.LockFor:
		options = append(options, redlock.Lease(lease))
	case history.RLock, history.TryRLock:
		options = append(options, redlock.Shared())
	case history.Acquire, history.TryAcquire:
		options = append(options, redlock.Permits(permits))
	}
	hold, err := lock(ctx, names[0], options...)
	if err != nil {
		return nil, nil, err
	}
	return []*redlock.Hold{hold}, nil, nil
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
