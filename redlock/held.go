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
	owner *owner
	own   owner // if the caller had none
	visit visit // the watchdog's

	mu     sync.Mutex
	claim  multilock.Claim // what it has at the masters; only At changes, and needs mu
	levels []*level        // its length is the hold count
	room   [1]*level       // for levels
	first  level           // of levels
	until  clock.Instant   // end of validity
	lease  time.Duration   // that a renewal is for
	watch  bool            // renewed by the watchdog, until Unlock or limit
	limit  time.Time       // no renewal is due then or later; zero if there is no limit
	ceased error           // why it is renewed no more, nil if it has not come to that
	short  bool            // passed on, and not yet renewed to its lease
	why    *MajorityError  // of the last renewal, if it failed
	cause  error           // why it has ended, nil while it has not
	since  time.Time       // since when it has ended
	timer  *time.Timer     // fires when validity ends
	gone   bool            // its release is on the way
	over   chan struct{}   // closed then, nil if nobody waits for it
}

// level is one of the Holds that share a lock.
type level struct {
	since  time.Time
	orphan bool // its Hold was collected; held.mu guards it
	scope  scope
	ctx    window
}

// window is the context of a level. It says that it has ended as soon as validity has, even
// where the timer does not yet, as after a suspend of the machine.
type window struct {
	context.Context
	held   *held
	cancel context.CancelCauseFunc
}

func (w *window) Err() error {
	if w.Context.Err() == nil {
		if cause := w.held.check(); cause != nil {
			w.cancel(cause)
		}
	}
	return w.Context.Err()
}

// hold makes a hold of what the masters granted.
func (c *Client) hold(ctx context.Context, w want, g multilock.Grant) *Hold {
	h := &held{
		c:     c,
		name:  w.name,
		claim: g.Claim,
		owner: w.owner,
		visit: visit{index: unscheduled},
		until: g.Until,
		lease: w.lease,
		short: g.Short,
	}
	if h.owner == nil {
		h.owner = &h.own
	}
	h.levels = append(h.room[:0], h.open(ctx, &h.first, w))
	h.mu.Lock()
	h.timer = time.AfterFunc(clock.Until(h.until), h.expire)
	ended := c.adopt(h)
	if w.watch {
		h.watchFrom(h.first.since)
	}
	h.watchOn()
	h.mu.Unlock()
	if ended != nil {
		ended.lose(nil)
	}
	return h.handle(&h.first)
}

// open makes l a level with a context of its own.
func (h *held) open(ctx context.Context, l *level, w want) *level {
	l.since = time.Now()
	l.scope = scope{values: ctx, held: h}
	parent := context.Context(&l.scope)
	if w.bind {
		parent = context.WithValue(context.WithValue(ctx, ownerKey{}, h.owner), holdKey{}, h)
	}
	l.ctx.held = h
	l.ctx.Context, l.ctx.cancel = context.WithCancelCause(parent)
	return l
}

// ended returns a channel that is closed once the hold has ended and its release is on
// the way.
func (h *held) ended() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone {
		return ready
	}
	if h.over == nil {
		h.over = make(chan struct{})
	}
	return h.over
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
	if h.check() != nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.levels)
}

// validUntil returns when validity ends, or ended, by the wall clock.
func (h *held) validUntil() time.Time {
	h.check()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return h.since
	}
	return time.Now().Add(clock.Until(h.until))
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
	switch {
	case err != nil:
	case h.ceased != nil:
		err = h.ceased
	case h.why != nil:
		err = h.why.With(ErrLost)
	default:
		err = fmt.Errorf("%w: the validity of %q has ended", ErrLost, h.name)
	}
	h.endLocked(err)
	h.mu.Unlock()
	h.finish()
	h.c.cfg.Logger.Warn("redlock: hold is lost", "name", h.name, "owner", h.claim.ID, "error", err)
}

// endLocked notes why the hold has ended, and when: with its validity, or before. h.mu is held.
func (h *held) endLocked(cause error) {
	h.cause = cause
	h.since = time.Now().Add(min(0, clock.Until(h.until)))
}

// end ends the hold unless it has ended, and returns the release that is then under way.
func (h *held) end(cause error) *multilock.Return {
	h.mu.Lock()
	if h.cause != nil {
		h.mu.Unlock()
		return nil
	}
	h.endLocked(cause)
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
		l.ctx.cancel(h.cause)
	}
	h.c.dog.forget(h)
	r := h.release()
	h.c.forget(h)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	if h.over != nil {
		close(h.over)
	}
	return r
}

// release gives the lock back at the masters, and lets the next caller that waits here
// enter their queue by it.
func (h *held) release() *multilock.Return {
	h.mu.Lock()
	claim := h.claim
	h.c.mu.Lock()
	next := h.c.next(h.name)
	h.c.mu.Unlock()
	h.mu.Unlock()
	if next == nil {
		return h.c.masters.Release(claim, 0)
	}
	return h.c.masters.ReleaseTo(claim, next)
}
