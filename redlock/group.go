package redlock

import (
	"context"
	"sync/atomic"
)

// group is the context of several holds: it ends with the first of them, for its cause.
type group struct {
	scope  scope
	cancel context.CancelCauseFunc
	parts  []*entry
	outer  atomic.Pointer[group] // that it is a part of, nil if there is none

	context.Context
}

// newGroup makes a group of holds for a caller whose context is ctx, which it ends with if bound is
// set. e is what the context has for an entry, nil where no token could be named.
//
// It refers to the entries and not to their Holds, as an entry does.
func newGroup(ctx context.Context, bound bool, e *entry, holds ...*Hold) *group {
	g := &group{scope: scope{values: ctx, entry: e}}
	g.scope.group = g
	g.Context, g.cancel = context.WithCancelCause(g.scope.parent(bound))
	for _, h := range holds {
		if h.pair != nil {
			g.parts = append(g.parts, h.pair.first.e, h.pair.second.e)
			h.pair.ctx.outer.Store(g)
		} else {
			g.parts = append(g.parts, h.e)
			h.e.group.Store(g)
		}
	}
	_ = g.Err() // one may have ended before it knew of g
	return g
}

// end ends the group, and what it is a part of. It returns when their contexts have ended, so nothing
// is given back before.
func (g *group) end(cause error) {
	for ; g != nil; g = g.outer.Load() {
		g.cancel(cause)
	}
}

// Err says that the group has ended as soon as the validity of one hold has, even before a timer
// does.
func (g *group) Err() error {
	for _, e := range g.parts {
		if e.ctx.Err() != nil {
			g.cancel(context.Cause(&e.ctx))
		}
	}
	return g.Context.Err()
}

// unlocking ends the group since its holds are about to be given back, and returns the context for
// that: one that was the group's own, or made of it, must not end the wait for the answers.
func (g *group) unlocking(ctx context.Context) context.Context {
	live := ctx.Err() == nil
	_ = g.Err() // if a hold was lost before, that is why
	g.end(ErrNotHeld)
	if live && ctx.Err() != nil {
		return context.WithoutCancel(ctx)
	}
	return ctx
}
