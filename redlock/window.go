package redlock

import (
	"cmp"
	"context"
	"sync/atomic"

	"example.com/redlock/multilock"
)

// window is the context of one entry or of several. It ends with the first of them, with the same cause. It refers to the
// entries and not to their Holds, which may become garbage.
type window struct {
	context.Context // that ends; for values see Value
	cancel          context.CancelCauseFunc
	values          context.Context // the caller's
	bound           bool            // the window ends with the caller's context
	entry           *entry          // whose token Token returns; nil if the parts have several
	parts           []*entry
	outer           atomic.Pointer[window] // that has the parts of this one and others; nil: none
}

// made returns w. If that is nil, it returns a window without parts that has ended.
func (w *window) made() *window {
	if w != nil {
		return w
	}
	w = new(window)
	w.open(context.Background(), false, nil)
	w.cancel(errNoHold)
	return w
}

// around makes the window of several holds; for its other fields see window.
func around(ctx context.Context, bound bool, e *entry, holds ...*Hold) *window {
	w := new(window)
	w.open(ctx, bound, e)
	for _, h := range holds {
		w.parts = append(w.parts, h.of.parts...)
		h.of.outer.Store(w)
	}
	_ = w.Err() // a part may have ended before it knew of w
	return w
}

// least returns the least value of any part of w, or zero if it has none.
func least[T cmp.Ordered](w *window, of func(*multilock.Hold) T) (least T) {
	if w == nil {
		return least
	}
	for i, e := range w.parts {
		if value := of(e.hold.Load()); i == 0 || value < least {
			least = value
		}
	}
	return least
}

// open makes w the context of its parts, for a caller whose context is ctx.
func (w *window) open(ctx context.Context, bound bool, e *entry) {
	w.values, w.bound, w.entry = ctx, bound, e
	end := context.Background()
	if bound {
		end = ctx
	}
	w.Context, w.cancel = context.WithCancelCause(end)
}

type windowKey struct{}

// Value finds w itself, what package context looks for in a context that it can cancel, and the caller's values.
func (w *window) Value(key any) any {
	if key == (windowKey{}) {
		return w
	}
	if v := w.Context.Value(key); v != nil || w.bound { // if bound, it has found the caller's
		return v
	}
	return w.values.Value(key)
}

// windowOf returns the innermost window that ctx derives from, nil if there is none.
func windowOf(ctx context.Context) *window {
	w, _ := ctx.Value(windowKey{}).(*window)
	return w
}

// find returns the entry of name in s if it is held under w, else nil. Names that are locked together are held under the
// context of each of them.
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

// Err says that the window has ended as soon as the validity of a part has, even if its timer is late, as after the
// machine was suspended.
func (w *window) Err() error {
	for _, e := range w.parts {
		if cause := e.cause(); cause != nil {
			w.cancel(cause)
		}
	}
	return w.Context.Err()
}

// end ends the window and those around it. Their contexts have ended when it returns, so nothing is given back before.
func (w *window) end(cause error) {
	for ; w != nil; w = w.outer.Load() {
		w.cancel(cause)
	}
}

// unlocking ends the window, whose holds are about to be given back, and returns the context of the wait for the answers.
// If ctx derives from the window, it has just ended; only its deadline counts then.
func (w *window) unlocking(ctx context.Context) (context.Context, context.CancelFunc) {
	live := ctx.Err() == nil
	_ = w.Err() // if a hold was lost before, that is the cause
	w.end(ErrNotHeld)
	for _, e := range w.parts { // ctx may derive from one of them
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
