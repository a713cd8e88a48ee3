package redlock

import (
	"context"
	"slices"
	"sync"
	"time"
)

// owner is a call tree that enters its own holds again. It travels in contexts.
type owner struct {
	mu    sync.Mutex
	holds []*held  // few, and no two of one name at one client
	room  [1]*held // for holds
}

type ownerKey struct{}

// WithOwner gives the call tree under ctx one owner: a Lock of a name that any part of
// the tree holds already enters that hold again. Without it, the tree begins with the
// context of the first hold. A ctx that has an owner is returned as it is.
func WithOwner(ctx context.Context) context.Context {
	if ownerOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, new(owner))
}

// ownerOf returns ctx's owner, nil if it has none.
func ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{}).(*owner)
	return o
}

// Token returns the fencing token of the innermost hold under whose context ctx is, zero
// if there is none: see [Hold.Token]. Where several names are locked one inside the
// other, the token is that of the last one; for another one, pass its Hold.
func Token(ctx context.Context) int64 {
	h, _ := ctx.Value(holdKey{}).(*held)
	if h == nil {
		return 0
	}
	return h.claim.Token
}

type holdKey struct{}

// scope is a context with the values of another, and those of a hold. It never ends.
type scope struct {
	values context.Context
	held   *held
}

func (*scope) Deadline() (_ time.Time, ok bool) { return }
func (*scope) Done() <-chan struct{}            { return nil }
func (*scope) Err() error                       { return nil }

func (s *scope) Value(key any) any {
	switch key {
	case ownerKey{}:
		return s.held.owner
	case holdKey{}:
		return s.held
	}
	return s.values.Value(key)
}

// held returns the owner's hold of name at c, nil if it has none.
func (o *owner) held(c *Client, name string) *held {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.index(c, name); i >= 0 {
		return o.holds[i]
	}
	return nil
}

// add makes h the owner's hold of its name.
func (o *owner) add(h *held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := o.index(h.c, h.name); i >= 0 {
		o.holds[i] = h
	} else {
		if o.holds == nil {
			o.holds = o.room[:0]
		}
		o.holds = append(o.holds, h)
	}
}

// drop is the end of add.
func (o *owner) drop(h *held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if i := slices.Index(o.holds, h); i >= 0 {
		o.holds = slices.Delete(o.holds, i, i+1)
	}
}

// index returns where the hold of name at c is, -1 if it is not there. o.mu is held.
func (o *owner) index(c *Client, name string) int {
	return slices.IndexFunc(o.holds, func(h *held) bool { return h.c == c && h.name == name })
}
