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
// lock. A lock with a fixed lease may be left to expire.
//
// A Hold must not be copied.
type Hold struct {
	h    *multilock.Hold
	e    *entry
	pair *Holds          // nil unless the lock is held in two sets of masters
	leak runtime.Cleanup // what is to happen when the Hold is garbage
}

// Name returns the name that is locked.
func (h *Hold) Name() string { return h.h.Name() }

// Owner returns the owner as the masters know it, "uuid:rN", or "uuid:kN" under Config.Keep. No two
// locks have the same one, unless the second was kept.
func (h *Hold) Owner() string { return h.h.Owner() }

// Context returns a context for the work that the lock protects. It has the values of the context
// that was passed to Lock. A Lock of the same name under it enters this hold again, as long as that
// lasts; a Lock of another name does not, unless the context that was passed to Lock was that of a hold
// of that name, or had an owner (see [WithOwner]).
//
// It ends with Unlock, or at the latest with the hold's validity, when no other client can have the
// lock yet. After the machine was suspended, Err knows of that at once, and Done within a second.
// [context.Cause] then matches ErrNotHeld after Unlock, ErrLost, or ErrClosed. It does not end with
// the context that was passed to Lock, which bounds only the wait. If it should, use [Client.Do].
func (h *Hold) Context() context.Context { return h.window() }

func (h *Hold) window() *window {
	if h.pair != nil {
		return h.pair.ctx
	}
	return &h.e.ctx
}

// Token returns the fencing token: a positive number that does not change while the lock is held,
// that no other hold of the name has, and that is larger for each later hold. A resource that
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
func (h *Hold) Token() int64 { return h.h.Token() }

// Until returns the instant at which the hold's validity ends, by the local wall clock. A renewal
// moves it. Once the hold has ended, Until returns when that was, and no longer changes.
func (h *Hold) Until() time.Time {
	if h.pair != nil {
		return slices.MinFunc(h.pair.holds, func(a, b *Hold) int { return a.Until().Compare(b.Until()) }).Until()
	}
	return h.h.Until()
}

// Remaining returns how much validity is left: the lease, minus the time since it was asked for,
// minus the allowance for clock drift. It is zero once the hold has ended.
//
// If another client's Unlock handed the lock over, it begins with a short lease: at most 0.8 s plus
// four round trips, 2 s behind a hold of the same client, or 3.2 s in a long queue. It is renewed to its full lease 20 ms later.
func (h *Hold) Remaining() time.Duration {
	if h.pair != nil {
		return h.pair.Remaining()
	}
	return h.h.Remaining()
}

// Count returns the hold count: how many Holds share this lock, zero once it has ended.
func (h *Hold) Count() int {
	if h.pair != nil {
		return min(h.pair.holds[0].Count(), h.pair.holds[1].Count())
	}
	return h.h.Count()
}

// Extend renews the hold on a majority of the masters, for lease from now. It never shortens the
// hold. lease is in whole milliseconds, rounded down, and at most Config.MaxLease.
//
// ErrLost: the hold has ended, or a majority no longer has it. ErrNoQuorum: too few
// masters answered; the hold stays as it was. ErrNotHeld: it was unlocked.
//
// Cost: one round trip. Source: docs/how-it-works.md, "Renew".
func (h *Hold) Extend(ctx context.Context, lease time.Duration) error {
	if h.pair != nil {
		return h.pair.both(func(h *Hold) error { return h.Extend(ctx, lease) })
	}
	if err := h.e.c.cfg.checkLease("lease", lease); err != nil {
		return err
	}
	return h.h.Extend(ctx, h.e, lease.Truncate(time.Millisecond))
}

// Unlock gives this hold back. The last Unlock of an owner frees the lock, and returns when a
// majority of the masters is known not to have it any more.
//
// Under a ctx that has ended, it still releases the lock, but does not wait for the answers: the
// error then matches ctx's error and ErrNoQuorum. A ctx that derives from the hold's own ends with the
// hold; its deadline still bounds the wait.
//
// ErrNotHeld: it was unlocked before. ErrLost: the hold had ended before, so what it protected may
// have run beside another owner. ErrNoQuorum: too few masters confirmed; the release goes on in the
// background, and the lock ends with its lease at the latest. ErrClosed: Client.Close gave it back.
//
// Cost: one round trip, and none where the lock is kept (Config.Keep). Source: docs/how-it-works.md, "Release".
func (h *Hold) Unlock(ctx context.Context) error {
	ctx, cancel := h.window().unlocking(ctx)
	defer cancel()
	if h.pair != nil {
		return h.pair.both(func(h *Hold) error { return h.Unlock(ctx) })
	}
	h.leak.Stop()
	runtime.KeepAlive(h) // until here, or it could have leaked in the call that unlocks it
	return h.h.Unlock(ctx, h.e)
}
