package redlock

import "context"

// owner stands for a call tree that enters its own holds again. It travels in contexts. The owner
// of a tree that begins with a hold is the first entry of that hold.
type owner struct {
	_ byte // no two owners have one address
}

type ownerKey struct{}

// WithOwner gives the call tree under ctx one owner: a Lock of a name that any part of
// the tree holds already enters that hold again. Without it, the tree begins with the
// context of the first hold. A ctx that has an owner is returned as it is.
func WithOwner(ctx context.Context) context.Context {
	if ctx.Value(ownerKey{}) != nil {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, new(owner))
}

// Token returns the fencing token of the innermost hold whose context ctx derives from, or zero if
// there is none: see [Hold.Token]. If several names are locked one inside the other, that is the
// token of the one locked last; for the others, use Hold.Token.
func Token(ctx context.Context) int64 {
	e, _ := ctx.Value(entryKey{}).(*entry)
	if e == nil {
		return 0
	}
	return e.hold.Load().Token()
}
