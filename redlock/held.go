package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock"
)

// held is a lock that this client has, shared by the Holds of its owner.
//
// Of the locks in this package, held.mu is taken first, then Client.mu, then that of
// the owner or the watchdog.
type held struct {
	c     *Client
	name  string
	id    string // the owner, as the masters know it
	owner *owner
	token int64
	at    multilock.Set // the masters that may have it
	over  chan struct{} // closed when it has ended, and its release is on the way

	mu     sync.Mutex
	levels []*Hold        // its length is the hold count
	until  clock.Instant  // end of validity
	watch  bool           // renewed by the watchdog
	why    *MajorityError // of the last renewal, if it failed
	cause  error          // why it has ended, nil while it has not
	timer  *time.Timer    // fires when validity ends
}

// hold makes a hold of what the masters granted.
func (c *Client) hold(ctx context.Context, w want, id string, g multilock.Grant) *Hold {
	h := &held{
		c:     c,
		name:  w.name,
		id:    id,
		owner: ownerOf(ctx),
		token: g.Token,
		at:    g.At,
		over:  make(chan struct{}),
		until: g.Until,
		watch: w.watch,
	}
	l := h.level(ctx, w)
	h.levels = []*Hold{l}
	h.mu.Lock()
	h.timer = time.AfterFunc(clock.Until(h.until), h.expire)
	ended := c.adopt(h)
	if h.watch {
		c.dog.watch(h, renewEvery(c.cfg.Lease))
	}
	h.mu.Unlock()
	if ended != nil {
		ended.lose(nil)
	}
	return l
}

// level makes a Hold with a context of its own.
func (h *held) level(ctx context.Context, w want) *Hold {
	if !w.bind {
		ctx = context.WithoutCancel(ctx)
	}
	l := &Hold{h: h}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	return l
}

func (h *held) remaining() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return 0
	}
	return max(0, clock.Until(h.until))
}

func (h *held) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return 0
	}
	return len(h.levels)
}

// check ends a hold whose validity has passed before its timer says so, as it does when
// the machine was suspended, and returns why the hold has ended, nil if it has not.
func (h *held) check() error {
	h.mu.Lock()
	if h.cause == nil && clock.Until(h.until) <= 0 {
		h.mu.Unlock()
		h.lose(nil)
		h.mu.Lock()
	}
	defer h.mu.Unlock()
	return h.cause
}

// expire is what the timer does.
func (h *held) expire() {
	h.mu.Lock()
	left := clock.Until(h.until)
	if h.cause == nil && left > 0 {
		h.timer.Reset(left) // it was renewed meanwhile
	}
	h.mu.Unlock()
	if left <= 0 {
		h.lose(nil)
	}
}

// lose ends the hold because the masters no longer have it, as err says, or because its
// validity has ended, with a nil err.
func (h *held) lose(err error) {
	h.mu.Lock()
	if h.cause != nil {
		h.mu.Unlock()
		return
	}
	if err == nil && h.why != nil {
		err = h.why.With(ErrLost)
	} else if err == nil {
		err = fmt.Errorf("%w: the validity of %q has ended", ErrLost, h.name)
	}
	h.cause = err
	h.mu.Unlock()
	h.finish()
	h.c.cfg.Logger.Warn("redlock: hold is lost", "name", h.name, "owner", h.id, "error", err)
}

// end ends the hold unless it has ended, and returns the release that is then under way.
func (h *held) end(cause error) *multilock.Return {
	h.mu.Lock()
	if h.cause != nil {
		h.mu.Unlock()
		return nil
	}
	h.cause = cause
	h.mu.Unlock()
	return h.finish()
}

// finish is called once, by whoever set cause. The contexts end before the release is
// sent, so nobody else has the lock while they say that it is held. The client forgets
// the hold after it, so Close finds every hold whose release is still to be sent.
func (h *held) finish() *multilock.Return {
	h.mu.Lock()
	levels := slices.Clone(h.levels)
	h.mu.Unlock()
	h.timer.Stop()
	for _, l := range levels {
		l.cancel(h.cause)
	}
	h.c.dog.forget(h)
	r := h.c.masters.Release(h.name, h.id, 0, h.at)
	h.c.forget(h)
	close(h.over)
	return r
}
