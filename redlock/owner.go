package redlock

import (
	"context"
	"fmt"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/poll"
)

// owner stands for a call tree that enters its own holds again. It travels in contexts. The owner
// of a hold that was taken without one is the hold's first entry.
type owner struct {
	_ byte // no two owners have one address
}

type ownerKey struct{}

// WithOwner begins a call tree that is one owner: a Lock, under the context that it returns, of a name that any
// part of the tree holds enters that hold again, as [Hold.Enter] does, also from another goroutine. It is for code that
// cannot pass a [Hold] on, as where a thread owned the lock in another library. A ctx that has an owner is returned as
// it is.
//
// The goroutines of one tree do not exclude each other. So begin one for each request or job, before its first Lock, and
// none in a context that all of them share, such as the base context of a server.
//
// Lock enters a name that the tree holds for reading only with [Shared]; without it, it returns ErrUpgrade.
func WithOwner(ctx context.Context) context.Context {
	if ownerOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, new(owner))
}

// ownerOf returns the owner of the tree that ctx is in, nil if there is none.
func ownerOf(ctx context.Context) any { return ctx.Value(ownerKey{}) }

// alreadyHeld returns an error if a Lock as req says would wait for its own caller: ctx derives from a hold of the name
// that the caller's owner cannot enter.
//
// It is tempting to enter the hold. But a context is handed on to whoever works for the holder, so all of them would be
// inside at once.
func (s *set) alreadyHeld(ctx context.Context, req *multilock.Request) error {
	if req.Permits > 0 {
		return nil
	}
	for around := windowOf(ctx); around != nil; around = windowOf(around.values) {
		e := around.find(s, req.Key)
		switch {
		case e == nil || e.owner == ownerOf(ctx):
			continue
		case e.hold.Load().Shared() && !req.Shared:
			return poll.Fail("lock", req.Key, ErrUpgrade)
		}
		return poll.Fail("lock", req.Key, ErrHeld)
	}
	return nil
}

// Enter enters the lock again: it returns one more Hold of it, to be unlocked by itself, and the lock is free after
// the last Unlock. Its context has the values of ctx. Use it to hand a lock on to work that may outlast yours.
//
// A writer's lock stays exclusive, and a reader's shared. The watchdog renews the lock until the last Unlock of a
// Hold that is renewed, as this one is, even if the lock had a fixed lease.
//
// ErrLost: the lock has ended. ErrNotHeld: this Hold was unlocked. ErrNoQuorum: too few masters answered. A
// permit is not entered again.
//
// Cost: one round trip. Source: docs/how-it-works.md, "Re-entry".
func (h *Hold) Enter(ctx context.Context) (*Hold, error) {
	if h.of == nil {
		return nil, errNoHold
	}
	first, err := h.of.parts[0].enter(ctx)
	if err != nil || len(h.of.parts) == 1 {
		return first, outward(err)
	}
	second, err := h.of.parts[1].enter(ctx)
	if err != nil {
		giveBack(ctx, []*Hold{first})
		return nil, outward(err)
	}
	return newPair(ctx, false, first, second), nil
}

func (e *entry) enter(ctx context.Context) (*Hold, error) {
	hold := e.hold.Load()
	switch {
	case e.name == "":
		return nil, fmt.Errorf("redlock: enter %q: a permit is not entered again", hold.Name())
	case e.unlocked.Load():
		return nil, poll.Fail("enter", e.name, ErrNotHeld)
	case ctx.Err() != nil:
		return nil, poll.Fail("enter", e.name, poll.Ended(ctx))
	}
	cfg := &e.set.cfg
	again, req := e.set.request(ctx, multilock.Request{Key: e.name, Watch: true, Lease: cfg.Lease, Limit: cfg.MaxHold}, false)
	again.owner = e.owner
	return again.locked(hold, e.set.masters.Enter(ctx, hold, req))
}

// Token returns the fencing token of the innermost hold whose context ctx derives from, or zero if
// there is none: see [Hold.Token]. If several names are locked one inside the other, that is the
// token of the one locked last; for the others, use Hold.Token. It is zero under [Holds.Context], since each of those
// names has its own.
func Token(ctx context.Context) int64 {
	w := windowOf(ctx)
	if w == nil || w.entry == nil {
		return 0
	}
	return w.entry.hold.Load().Token()
}

// PermitSlot returns the slot of the innermost permit under whose context ctx is, and false if there is none:
// see [Hold.Slot].
func PermitSlot(ctx context.Context) (slot int, ok bool) {
	for w := windowOf(ctx); w != nil; w = windowOf(w.values) {
		if e := w.entry; e != nil && e.name == "" {
			return e.hold.Load().Slot(), true
		}
	}
	return 0, false
}
