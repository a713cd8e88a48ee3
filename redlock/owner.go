package redlock

import (
	"context"
	"sync"
)

// owner is a call tree that enters its own holds again. It travels in contexts.
type owner struct {
	mu    sync.Mutex
	holds map[place]*held
}

// place is a name at a client. Two clients do not share their holds.
type place struct {
	client *Client
	name   string
}

type ownerKey struct{}

// WithOwner gives the call tree under ctx one owner: a Lock of a name that any part of
// the tree holds already enters that hold again. Without it, the tree begins with the
// context of the first hold. A ctx that has an owner is returned as it is.
func WithOwner(ctx context.Context) context.Context {
	if ownerOf(ctx) != nil {
		return ctx
	}
	return context.WithValue(ctx, ownerKey{}, &owner{holds: make(map[place]*held)})
}

// ownerOf returns ctx's owner, nil if it has none.
func ownerOf(ctx context.Context) *owner {
	o, _ := ctx.Value(ownerKey{}).(*owner)
	return o
}

// held returns the owner's hold at p, nil if it has none.
func (o *owner) held(p place) *held {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.holds[p]
}

func (o *owner) add(p place, h *held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holds[p] = h
}

func (o *owner) drop(p place, h *held) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.holds[p] == h {
		delete(o.holds, p)
	}
}
