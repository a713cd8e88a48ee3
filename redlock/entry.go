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
	name  string                         // that is entered again under its context; "" for a permit, which is never
	owner any                            // who may do so
	hold  atomic.Pointer[multilock.Hold] // set before anybody sees the entry
	scope scope
	ctx   window
	since time.Time
	group atomic.Pointer[group] // that it is a part of, nil if there is none
}

// scope is a context with the values of another, inside an entry or a group. It never ends.
type scope struct {
	values context.Context
	entry  *entry // whose token Token returns, nil where no token could be named
	group  *group // nil: it is the scope of entry alone
}

func (*scope) Deadline() (_ time.Time, ok bool) { return }
func (*scope) Done() <-chan struct{}            { return nil }
func (*scope) Err() error                       { return nil }

type scopeKey struct{}

func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	return s.values.Value(key)
}

// scopeOf returns the innermost scope that ctx derives from, nil if there is none.
func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// find returns the entry for name at c, nil if s has none whose hold lasts. Names that are locked together
// are entered again under the context of any of them.
func (s *scope) find(c *Client, name string) *entry {
	parts, g := []*entry{s.entry}, s.group
	if g == nil {
		g = s.entry.group.Load()
	}
	for ; g != nil; g = g.outer.Load() {
		parts = g.parts
	}
	for _, e := range parts {
		if e.c == c && e.name == name && e.hold.Load().Check() == nil {
			return e
		}
	}
	return nil
}

// bounded is a scope that ends with the context that it has the values of.
type bounded struct {
	context.Context
	scope *scope
}

func (b bounded) Value(key any) any { return b.scope.Value(key) }

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

// newEntry makes an entry for what a caller wants whose context is ctx. owner enters it again, or
// the entry itself if that is nil.
func (c *Client) newEntry(ctx context.Context, w want, owner any) *entry {
	e := &entry{c: c, owner: owner}
	if w.permits == 0 {
		e.name = w.name
	}
	if owner == nil {
		e.owner = e
	}
	e.scope = scope{values: ctx, entry: e}
	e.ctx.entry = e
	e.ctx.Context, e.ctx.cancel = context.WithCancelCause(e.scope.parent(w.bind))
	return e
}

// parent returns what a context with the values of s is made of. If bound is set, that ends with the
// caller's.
func (s *scope) parent(bound bool) context.Context {
	if bound {
		return bounded{s.values, s}
	}
	return s
}

// Ended implements [multilock.Entry].
func (e *entry) Ended(cause error) {
	e.ctx.cancel(cause)
	e.group.Load().end(cause)
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
