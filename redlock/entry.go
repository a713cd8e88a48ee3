package redlock

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"example.com/redlock/multilock"
)

// entry is one of the Holds that share a lock. It is what remains of a [Hold] that has become
// garbage.
type entry struct {
	c     *Client
	hold  atomic.Pointer[multilock.Hold] // set before anybody sees the entry
	scope scope
	ctx   window
	since time.Time
	group atomic.Pointer[group] // that it is a part of, nil if there is none
	use   atomic.Pointer[use]   // that it is a part of, nil if there is none
}

// scope is a context with the values of another, and those of an entry. It never ends.
type scope struct {
	values context.Context
	entry  *entry
}

func (*scope) Deadline() (_ time.Time, ok bool) { return }
func (*scope) Done() <-chan struct{}            { return nil }
func (*scope) Err() error                       { return nil }

func (s *scope) Value(key any) any {
	switch key {
	case ownerKey{}:
		if owner := s.values.Value(ownerKey{}); owner != nil {
			return owner
		}
		return s.entry
	case entryKey{}:
		return s.entry
	}
	return s.values.Value(key)
}

type entryKey struct{}

// window is the context of an entry. Err says that it has ended as soon as validity has, even
// before the timer does, as after the machine was suspended.
type window struct {
	context.Context
	entry  *entry
	cancel context.CancelCauseFunc
}

func (w *window) Err() error {
	if w.Context.Err() == nil {
		if cause := w.entry.hold.Load().Check(); cause != nil {
			w.cancel(cause)
		}
	}
	return w.Context.Err()
}

// newEntry makes an entry for a caller whose context is ctx. Its own ends with ctx if bound is set.
func (c *Client) newEntry(ctx context.Context, bound bool) *entry {
	e := &entry{c: c}
	e.scope = scope{values: ctx, entry: e}
	e.ctx.entry = e
	e.ctx.Context, e.ctx.cancel = context.WithCancelCause(e.scope.parent(bound))
	return e
}

// parent returns what a context with the values of s is made of. If bound is set, that ends with the
// caller's.
func (s *scope) parent(bound bool) context.Context {
	if bound {
		return context.WithValue(context.WithValue(s.values, ownerKey{}, s.Value(ownerKey{})), entryKey{}, s.entry)
	}
	return s
}

// Ended implements [multilock.Entry].
func (e *entry) Ended(cause error) {
	e.ctx.cancel(cause)
	e.group.Load().end(cause)
	e.use.Swap(nil).end()
}

// handle makes the Hold of e. When the Hold is garbage, so that nobody can unlock e any more,
// leaked is called.
//
// Neither e nor its lock refers to the Hold, nor do their contexts; otherwise it would live as
// long as the lock is renewed.
func (e *entry) handle(hold *multilock.Hold) *Hold {
	e.since = time.Now()
	e.hold.Store(hold)
	h := &Hold{h: hold, e: e}
	h.leak = runtime.AddCleanup(h, (*entry).leaked, e)
	return h
}

// leaked notes that nobody can unlock e any more.
//
// It is tempting to unlock it here. But work under its context may still be going on: whoever
// dropped the Hold may have kept the context. So the lock ends as if its masters could not be
// reached: with its validity, when the context says that it is lost, before another client can have
// it. That costs the others one lease, once. The entry counts until then, even when the lock's
// other Holds are unlocked.
//
// It runs in a goroutine of the runtime, outside the synctest bubble that the client may be in. So
// it must touch no channel and no timer, and uses the time for the log only.
func (e *entry) leaked() {
	hold := e.hold.Load()
	if hold.Orphan(e) {
		e.c.cfg.Logger.Warn("redlock: Hold is garbage without Unlock", "name", hold.Name(), "owner", hold.Owner(),
			"held", time.Since(e.since).Round(time.Millisecond))
	}
}
