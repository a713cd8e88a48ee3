package workload

import (
	"context"
	"time"

	"example.com/redlock/internal/history"
)

// Locker is a library on trial. Its methods may be called by any number of goroutines. What else a library
// can do, or needs, it says by implementing the interfaces below; what it cannot do is not asked of it.
type Locker interface {
	// Lock waits until it has name or ctx ends.
	Lock(ctx context.Context, name string) (Hold, error)
	// TryLock does not wait.
	TryLock(ctx context.Context, name string) (Hold, error)
	Close() error
}

// Versatile is a Locker that can do everything that callers may ask for.
type Versatile interface {
	// Ask makes a call of any kind that takes: for names, for a lease that nobody renews if it is LockFor, or for
	// one of so many permits. Of several names it returns a hold of each, and what unlocks all in one call.
	Ask(ctx context.Context, do history.Do, names []string, lease time.Duration, permits int) (
		holds []Hold, unlockAll func(context.Context) error, err error)
	// WithOwner returns a context by which the library knows a call tree: what it locks again under that, it
	// enters again.
	WithOwner(ctx context.Context) context.Context
}

// Unattended is a Locker that renews nothing by itself. Its holds are extended every so often.
type Unattended interface {
	ExtendEvery() time.Duration
}

// Documented is a Locker whose documentation says which errors a call may return. An error of another kind
// is recorded as one that nobody expects. Without it, any kind of error may come from any call.
type Documented interface {
	// MayFail reports whether a call of kind do may fail so.
	MayFail(do history.Do, as history.Failure) bool
}

// Hold is a name, or a permit, that a caller has.
type Hold interface {
	Name() string
	// Slot returns which permit it is, from 1. It is 0 for a lock.
	Slot() int
	// Token returns the fencing token, 0 if the library has none.
	Token() int64
	// Context returns a context that ends with the hold. It is nil if the library has no loss signal: a
	// caller then goes by Until.
	Context() context.Context
	// Until returns when the hold's validity ends, as far as the library tells, by the wall clock of this
	// process.
	Until() time.Time
	Extend(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// Enterer is a Hold that its owner can enter again, unless it is a permit. It has a context.
type Enterer interface {
	// Enter locks the name once more, for reading or not, under ctx, which derives from the hold's
	// context or its owner. same says whether it is the same hold still: if that had ended, it is another.
	Enter(ctx context.Context, shared bool) (again Hold, same bool, err error)
}

// Downgrader is a Hold that can become a reader's.
type Downgrader interface {
	Downgrade(ctx context.Context) error
}
