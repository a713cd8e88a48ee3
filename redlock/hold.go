package redlock

import (
	"context"
	"runtime"
	"slices"
	"time"

	"example.com/redlock/multilock"
)

// Hold is a lock that the caller holds. Each successful Lock returns a Hold of its own, to be
// unlocked once, even if its owner held the lock already.
//
// Dropping a Hold without Unlock is a bug, and is logged. When none of the Holds of a lock can be
// unlocked any more, the watchdog stops renewing the lock: it is lost at the end of its validity,
// and work under its context is protected until then. So keeping only the context does not keep the
// lock. A lock with a fixed lease may be left to expire, unless [Client.Close] gives it back before.
//
// A Hold must not be copied. One that no call returned has ended, and its methods say so.
type Hold struct {
	of   *window         // nil: no call returned it
	leak runtime.Cleanup // what is to happen when the Hold is garbage
}

// Name returns the name that is locked.
func (h *Hold) Name() string { return h.about().Name() }

// Owner returns the owner as the masters know it, "uuid:rN", or "uuid:kN" under Config.Keep. No two
// locks have the same one, unless the second was kept.
func (h *Hold) Owner() string { return h.about().Owner() }

// Context returns a context for the work that the lock protects. It ends when the lock does, and not with the
// context that was passed to Lock, which bounds only the wait; in [Client.Do], one context ends with either. It has the
// values of the context that was passed to Lock.
//
// It ends with Unlock, or at the latest with the hold's validity, when no other client can have the
// lock yet. After the machine was suspended, Err knows of that at once, and Done within a second.
// [context.Cause] then matches ErrNotHeld after Unlock, ErrLost, or ErrClosed.
//
// Code that has the context works under the lock, and does not hold it: a Lock of the same name under it returns
// ErrHeld. See [Hold.Enter].
func (h *Hold) Context() context.Context { return h.of.made() }

// Token returns the fencing token: a positive number that does not change while the lock is held,
// that no other hold of the name has, and that is larger for each later hold; readers may share one, see [Shared]. A resource that
// refuses a number smaller than one it has seen is safe from holders that do not know yet that they
// have lost the lock.
//
// A majority of the masters agreed on it before Lock returned. It is about the time in
// microseconds, by the median of the masters' clocks. So it also grows when masters forget (by a
// restart, by FLUSHALL, or because nobody locked the name for an hour), as long as their clocks are
// not set back meanwhile.
//
// Cost: none if the masters agree at once, as they do unless one of them missed earlier holds;
// otherwise one round trip in Lock, rarely more.
// Source: docs/how-it-works.md, "Fencing token".
func (h *Hold) Token() int64 { return h.about().Token() }

// Until returns the instant at which the hold's validity ends, by the local wall clock. A renewal
// moves it. Once the hold has ended, Until returns when that was, and no longer changes.
func (h *Hold) Until() (end time.Time) {
	for i, e := range h.of.made().parts {
		if until := e.hold.Load().Until(); i == 0 || until.Before(end) {
			end = until
		}
	}
	return end
}

// Remaining returns how much validity is left: the lease, minus the time since it was asked for,
// minus the allowance for clock drift. It is zero once the hold has ended.
//
// If an Unlock handed the lock over, it begins with a short lease: at most 0.8 s, 1.8 s behind a hold of the same client,
// or 4 s in a long queue, plus four round trips. The renewal to its full lease is sent within 20 ms.
func (h *Hold) Remaining() time.Duration { return least(h.of, (*multilock.Hold).Remaining) }

// Count returns the hold count: how many Holds share this lock, zero once it has ended.
func (h *Hold) Count() int { return least(h.of, (*multilock.Hold).Count) }

// Shared reports whether the hold is a reader's: from a Lock with the option [Shared], or by Downgrade. A
// Hold that entered a writer's lock is not shared. That of a name in two sets (see [SetsConfig]) is if it is in either.
func (h *Hold) Shared() bool {
	return slices.ContainsFunc(h.of.made().parts, func(e *entry) bool { return e.hold.Load().Shared() })
}

// Slot returns which slot of its semaphore a permit is, from 0, and below the largest number of
// [Permits] that any client gives. It is 0 for a lock.
func (h *Hold) Slot() int { return h.about().Slot() }

// Extend renews the hold on a majority of the masters, for lease from now. It never shortens the
// hold. lease is in whole milliseconds, rounded down, and at most Config.MaxLease.
//
// ErrLost: the hold has ended, or a majority no longer has it. ErrNoQuorum: too few
// masters answered; the hold stays as it was. ErrNotHeld: it was unlocked.
//
// Cost: one round trip. Source: docs/how-it-works.md, "Renew".
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	return h.each(ctx, "extend", func(e *entry, ctx context.Context) error { return e.extend(ctx, lease) })
}

// Downgrade turns a writer's hold into a reader's, as of [Shared], with no moment in between at which
// another writer could have the name. From then on, all Holds that share the lock are readers'.
// They keep their token, and are unlocked as before. Waiting readers are let in. There is no way
// back: see ErrUpgrade.
//
// It renews the hold, as [Hold.Extend] with the lease that it was taken with, and returns when a
// majority of the masters confirmed it. A hold that is a reader's already is only renewed.
//
// ErrLost: the hold has ended, or a majority no longer has it. ErrNoQuorum: too few masters answered;
// the hold is a reader's nevertheless, but readers may have to wait until a renewal reaches a
// majority. ErrNotHeld: it was unlocked. A permit cannot be downgraded.
//
// Cost: one round trip. Source: docs/how-it-works.md, "Readers".
func (h *Hold) Downgrade(ctx context.Context) error {
	return h.each(ctx, "downgrade", (*entry).downgrade)
}

// Unlock gives this hold back. The last Unlock of a lock frees it, and returns when a
// majority of the masters is known not to have it any more. A ctx that derives from the hold's own ends with the
// hold; its deadline still bounds the wait.
//
// ErrLost: the hold had ended before, so what it protected may have run at the same time as another holder.
// ErrNotAwaited: ctx has ended, so Unlock sent the release and did not wait for its confirmation, or not any longer;
// nothing is wrong. ErrNoQuorum: too few masters confirmed; the release goes on in the background, unless they refuse
// it for good, and the lock ends with its lease at the latest. ErrNotHeld: it was unlocked before. ErrClosed: Client.Close unlocked it.
//
// Cost: one round trip, and none where the lock is kept (Config.Keep). Source: docs/how-it-works.md, "Release".
func (h *Hold) Unlock(ctx context.Context) error {
	ctx, cancel := h.of.made().unlocking(ctx)
	defer cancel()
	h.leak.Stop()
	runtime.KeepAlive(h) // until here, or it could have leaked in the call that unlocks it
	return h.each(ctx, "unlock", (*entry).unlock)
}
