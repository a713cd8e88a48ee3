package redlock

import "context"

// owner stands for a call tree that enters its own holds again. It travels in contexts. The owner
// of a hold that was taken without one is the hold's first entry.
type owner struct {
	_ byte // no two owners have one address
}

type ownerKey struct{}

// WithOwner gives the call tree under ctx one owner for all names: a Lock of a name that any part
// of the tree holds already enters that hold again, also from another goroutine. Without it, only
// what runs under the context of a hold enters that hold again, and waits for all others. A ctx
// that has an owner is returned as it is.
func WithOwner(ctx context.Context) context.Context {
	if ctx.Value(ownerKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, new(owner))
}

// owner returns who enters the hold of name again under ctx: the owner of the hold of name that ctx
// derives from, or else that of the tree; nil if there is neither.
func (c *Client) owner(ctx context.Context, name string) any {
	for w := windowOf(ctx); w != nil; w = windowOf(w.values) {
		if e := w.find(c, name); e != nil {
			return e.owner
		}
	}
	return ctx.Value(ownerKey{})
}

// Token returns the fencing token of the innermost hold whose context ctx derives from, or zero if
// there is none: see [Hold.Token]. If several names are locked one inside the other, that is the
// token of the one locked last; for the others, use Hold.Token.
func Token(ctx context.Context) int64 {
	w := windowOf(ctx)
	if w == nil || w.entry == nil {
		return 0
	}
	return w.entry.hold.Load().Token()
}
