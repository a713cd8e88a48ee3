package redlock

import (
	"context"
	"sync/atomic"
)

// window is the context of an entry, or of several: it ends with the first of them, for its cause. It
// refers to the entries and not to their Holds.
type window struct {
	context.Context
	cancel context.CancelCauseFunc
	scope  scope
	values context.Context // the caller's
	entry  *entry          // whose token Token returns, nil where no token could be named
	parts  []*entry
	outer  atomic.Pointer[window] // of several that it is a part of, nil if there is none
}

// open makes w the context of its parts for a caller whose context is ctx, which it ends with if bound
// is set.
func (w *window) open(ctx context.Context, bound bool, e *entry) {
	w.values, w.entry = ctx, e
	w.scope = scope{context.Background(), w}
	if bound {
		w.scope.Context = ctx
	}
	w.Context, w.cancel = context.WithCancelCause(&w.scope)
}

// scope is what a window is made of: it has the values of the caller's context, but need not end with
// it.
type scope struct {
	context.Context // that it ends with
	window          *window
}

type scopeKey struct{}

func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s.window
	}
	return s.window.values.Value(key)
}

// windowOf returns the innermost window that ctx derives from, nil if there is none.
func windowOf(ctx context.Context) *window {
	w, _ := ctx.Value(scopeKey{}).(*window)
	return w
}

// find returns the entry for name in s, nil if w has none that is held. Names that are locked together
// are held under the context of any of them.
func (w *window) find(s *set, name string) *entry {
	for outer := w.outer.Load(); outer != nil; outer = w.outer.Load() {
		w = outer
	}
	for _, e := range w.parts {
		if e.set == s && e.name == name && !e.unlocked.Load() && e.hold.Load().Check() == nil {
			return e
		}
	}
	return nil
}

// Err says that the window has ended as soon as the validity of a part has, even before the timer does,
// as after the machine was suspended.
func (w *window) Err() error {
	for _, e := range w.parts {
		if cause := e.cause(); cause != nil {
			w.cancel(cause)
		}
	}
	return w.Context.Err()
}

// end ends the window, and what it is a part of. It returns when their contexts have ended, so nothing
// is given back before.
func (w *window) end(cause error) {
	for ; w != nil; w = w.outer.Load() {
		w.cancel(cause)
	}
}

// unlocking ends the window since its holds are about to be given back, and returns the context for
// that: one that was the window itself, or made of it, must not end the wait for the answers before its
// deadline.
func (w *window) unlocking(ctx context.Context) (context.Context, context.CancelFunc) {
	live := ctx.Err() == nil
	_ = w.Err() // if a hold was lost before, that is why
	w.end(ErrNotHeld)
	for _, e := range w.parts { // ctx may be made of one of several
		_ = e.ctx.Err()
		e.ctx.end(ErrNotHeld)
	}
	if !live || ctx.Err() == nil {
		return ctx, func() {}
	}
	if at, ok := ctx.Deadline(); ok {
		return context.WithDeadline(context.WithoutCancel(ctx), at)
	}
	return context.WithoutCancel(ctx), func() {}
}
