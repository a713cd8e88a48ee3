package redlock

import (
	"fmt"
	"runtime"
	"slices"
	"time"
)

// handle makes the Hold of l, a level of h. When nobody can unlock l any more, because the
// Hold is garbage, l is told.
//
// Neither h nor l refers to the Hold, nor do their contexts; otherwise it would live as
// long as h is renewed.
func (h *held) handle(l *level) *Hold {
	hold := &Hold{h: h, l: l}
	hold.leak = runtime.AddCleanup(hold, (*level).leaked, l)
	return hold
}

// leaked notes that nobody can unlock l any more.
//
// It is tempting to unlock it here. But work under its context may be under way all the
// same: who dropped the Hold may have kept the context. So the lock ends as one does whose
// masters cannot be reached: with its validity, at the end of which the context says that
// it is lost, before another client can have it. That costs the others a lease, once. The
// level counts until then, also when the lock's other Holds are unlocked.
//
// It runs in a goroutine of the runtime, outside of the synctest bubble that the client may
// be in: it must touch no channel and no timer, and tells the time to the log only.
func (l *level) leaked() {
	h := l.scope.held
	h.mu.Lock()
	if h.cause != nil {
		h.mu.Unlock()
		return
	}
	// A fixed lease ends by itself, and to let it is a use of it: not again for an hour.
	report := h.watch || h.ceased != nil
	l.orphan = true
	h.attend()
	h.mu.Unlock()
	if report {
		h.c.cfg.Logger.Warn("redlock: Hold is garbage without Unlock", "name", h.name, "owner", h.claim.ID,
			"held", time.Since(l.since).Round(time.Millisecond))
	}
}

// attend ends the renewals of a lock once nobody is left who can unlock it. h.mu is held.
func (h *held) attend() {
	if !h.watch || slices.ContainsFunc(h.levels, func(l *level) bool { return !l.orphan }) {
		return
	}
	h.cease(fmt.Errorf("%w: %q was renewed no more: its Hold was garbage without Unlock", ErrLost, h.name))
}
