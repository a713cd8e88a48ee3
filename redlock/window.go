package redlock

import (
	"cmp"
	"context"
	"sync/atomic"

	"example.com/redlock/multilock"
)

// window is the context of an entry, or of several: it ends with the first of them, for its cause. It
// refers to the entries and not to their Holds.
type window struct {
	context.Context // that ends; its values are the caller's, see Value
	cancel          context.CancelCauseFunc
	values          context.Context // the caller's
	bound           bool            // it ends with that
	entry           *entry          // whose token Token returns, nil where no token could be named
	parts           []*entry
	outer           atomic.Pointer[window] // of several that it is a part of, nil if there is none
}

// made is w, or a window that has ended, and has no parts, if there is none.
func (w *window) made() *window {
	if w != nil {
		return w
	}
	w = new(window)
	w.open(context.Background(), false, nil)
	w.cancel(errNoHold)
	return w
}

// around makes the context of several holds for a caller whose context is ctx, with which it ends if bound is set. e is
// whose token it has, nil where no token could be named.
func around(ctx context.Context, bound bool, e *entry, holds ...*Hold) *window {
	w := new(window)
	w.open(ctx, bound, e)
	for _, h := range holds {
		w.parts = append(w.parts, h.of.parts...)
		h.of.outer.Store(w)
	}
	_ = w.Err() // one may have ended before it knew of w
	return w
}

// least is the least that of says of any part of w, zero if there is none.
func least[T cmp.Ordered](w *window, of func(*multilock.Hold) T) (least T) {
	if w == nil {
		return least
	}
	for i, e := range w.parts {
		if told := of(e.hold.Load()); i == 0 || told < least {
			least = told
		}
	}
	return least
}

// open makes w the context of its parts for a caller whose context is ctx, which it ends with if bound
// is set.
func (w *window) open(ctx context.Context, bound bool, e *entry) {
	w.values, w.bound, w.entry = ctx, bound, e
	end := context.Background()
	if bound {
		end = ctx
	}
	w.Context, w.cancel = context.WithCancelCause(end)
}

type windowKey struct{}

// Value finds w itself, what package context looks for in a context that can end, and the caller's values.
func (w *window) Value(key any) any {
	if key == (windowKey{}) {
		return w
	}
	if v := w.Context.Value(key); v != nil || w.bound { // then it has looked among the caller's
		return v
	}
	return w.values.Value(key)
}

// windowOf returns the innermost window that ctx derives from, nil if there is none.
func windowOf(ctx context.Context) *window {
	w, _ := ctx.Value(windowKey{}).(*window)
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
