package redlock

import (
	"context"
	"sync/atomic"
	"time"

	"example.com/redlock/multilock"
)

// entry is one level of a lock's hold count. It remains when its [Hold] has become garbage.
type entry struct {
	set      *set
	name     string                         // "" for a permit, which is not entered again
	owner    any                            // whose Lock enters it again
	hold     atomic.Pointer[multilock.Hold] // set before anybody sees the entry
	unlocked atomic.Bool
	ctx      window
	self     [1]*entry // the parts of ctx, which saves an allocation
	since    time.Time
}

// request makes the entry that req is for, and returns req with the caller's part filled in. The entry's owner is that of
// ctx, or the entry itself.
func (s *set) request(ctx context.Context, req multilock.Request, bound bool) (*entry, multilock.Request) {
	e := &entry{set: s, owner: ownerOf(ctx)}
	req.Owner, req.Entry = e.owner, e
	if req.Permits == 0 {
		e.name = req.Key
	}
	if e.owner == nil {
		e.owner = e
	}
	e.self[0] = e
	e.ctx.parts = e.self[:]
	e.ctx.open(ctx, bound, e)
	return e, req
}

// Ended implements [multilock.Entry].
func (e *entry) Ended(cause error) { e.ctx.end(outward(cause)) }

// Context implements [multilock.Entry].
func (e *entry) Context() context.Context { return e.ctx.values }

// cause returns why e has ended, nil if it goes on.
func (e *entry) cause() error {
	if cause := context.Cause(e.ctx.Context); cause != nil {
		return cause
	}
	return outward(e.hold.Load().Check())
}

// locked returns the Hold of e, whose request was granted unless there is an error.
func (e *entry) locked(hold *multilock.Hold, err error) (*Hold, error) {
	if err != nil {
		e.ctx.cancel(err)
		return nil, err
	}
	e.since = time.Now()
	e.hold.Store(hold)
	return newHold(&e.ctx), nil
}

// leaked stops the renewal of the parts of w, which nobody can unlock any more.
//
// It is tempting to unlock them here. But work under their context may still be going on: whoever
// dropped the Hold may have kept the context. So the lock ends as if its masters could not be
// reached: with its validity. The context then says that it is lost, before another client can have
// it. That costs the others one lease, once. Until then the entries count, even after the lock's
// other Holds are unlocked.
//
// It runs in a goroutine of the runtime, outside the synctest bubble that the client may be in. So
// it must touch no channel and no timer, and uses the time for the log only.
func leaked(w *window) {
	for _, e := range w.parts {
		if hold := e.hold.Load(); hold.Orphan(e) {
			e.set.cfg.Logger.WarnContext(e.ctx.values, "redlock: Hold is garbage without Unlock", "name", hold.Name(), "owner", hold.Owner(),
				"held", time.Since(e.since).Round(time.Millisecond))
		}
	}
}
