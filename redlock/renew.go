package redlock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock"
	"example.com/redlock/node/script"
)

// renew asks the masters to extend holds to lease, and to heal them.
func (c *Client) renew(lease time.Duration, holds ...multilock.Renewal) {
	at := c.masters.Renew(lease, holds)
	for _, r := range holds {
		r.(interface{ renewing(at multilock.Set) }).renewing(at)
	}
}

// renewing is called when a renewal was sent to the masters in at, which may have the hold from
// now on: it heals. Where the hold ended meanwhile, its release may have been sent before, so that
// the renewal sets the lock again. The first release goes first all the same: its answers say
// whether the hold was there.
func (h *held) renewing(at multilock.Set) {
	h.mu.Lock()
	h.claim.At |= at
	ended, claim := h.cause != nil, h.claim
	if h.short {
		// It may end before the masters' silence is taken for a no.
		h.renewIn(max(h.c.masters.RoundTrip()+multilock.TopUp, clock.Until(h.until)/4))
	}
	h.mu.Unlock()
	if ended {
		<-h.ended()
		claim.At = at
		h.c.masters.Release(claim, 0)
	}
}

// Hold implements [multilock.Renewal].
func (h *held) Hold() script.Renewal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return script.Renewal{Owner: h.claim.Owner, Count: len(h.levels), Token: h.claim.Token}
}

// Renewed implements [multilock.Renewal] for the watchdog.
func (h *held) Renewed(until clock.Instant) {
	if h.renewed(until) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.short {
		h.short = false
		h.c.dog.forget(h) // the next try is not needed
	}
	h.watchOn()
}

// NotRenewed implements [multilock.Renewal] for the watchdog. As long as there is
// validity left, a round that failed is followed by another soon, and sooner the less there is.
func (h *held) NotRenewed(err *MajorityError) {
	if err.Lost() {
		h.lose(err)
		return
	}
	if h.check() != nil {
		return // it was given back meanwhile, or is over
	}
	left := h.remaining()
	h.c.cfg.Logger.Warn("redlock: renewal failed", "name", h.name, "left", left.Round(time.Millisecond), "error", err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why = err
	if !h.short { // or the next try is due already, see renewing
		h.renewIn(min(renewAgain(h.lease), max(left/4, renewAgain(h.lease)/10)))
	}
}

// watchFrom makes the hold one that the watchdog renews. Config.MaxHold counts from the
// first time. h.mu is held.
func (h *held) watchFrom(now time.Time) {
	h.watch, h.lease, h.ceased = true, h.c.cfg.Lease, nil
	if most := h.c.cfg.MaxHold; most > 0 && h.limit.IsZero() {
		h.limit = now.Add(most)
	}
}

// watchOn has the watchdog renew the hold when it is time, if that is wanted. h.mu is
// held.
func (h *held) watchOn() {
	if h.short {
		spare := clock.Until(h.until) - 2*h.c.masters.RoundTrip() // of two tries
		h.renewIn(max(0, min(multilock.TopUp, spare/2)))
	} else {
		h.renewIn(renewEvery(h.lease))
	}
}

// renewIn has the watchdog renew the hold after d, if that is wanted. A hold that was
// passed on is renewed to the lease that was asked for, whatever becomes of it then. h.mu
// is held.
func (h *held) renewIn(d time.Duration) {
	if h.cause != nil || !h.short && !h.watch {
		return
	}
	if !h.limit.IsZero() && !time.Now().Add(d).Before(h.limit) {
		h.cease(fmt.Errorf("%w: %q was renewed for Config.MaxHold %v, and no longer", ErrLost, h.name, h.c.cfg.MaxHold))
		return
	}
	h.c.dog.watch(h, d)
}

// cease ends the renewals of the hold. It then ends with its validity, and why is the cause.
// h.mu is held.
func (h *held) cease(why error) {
	h.watch, h.ceased = false, why
	if !h.short {
		h.c.dog.forget(h)
	}
}

// renewed moves the end of validity to until, unless it was reached before: a hold that
// has ended never comes back.
func (h *held) renewed(until clock.Instant) error {
	if err := h.check(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return h.cause
	}
	h.why = nil
	now := clock.Now()
	if left := now.Left(until); left > now.Left(h.until) {
		h.until = until
		h.timer.Reset(left)
	}
	return nil
}

// extend extends the hold to lease for one of its levels.
func (h *held) extend(ctx context.Context, l *level, lease time.Duration) error {
	if err := h.c.cfg.checkLease("lease", lease); err != nil {
		return err
	}
	lease = lease.Truncate(time.Millisecond)
	cause := h.check()
	h.mu.Lock()
	live := slices.Contains(h.levels, l)
	h.mu.Unlock()
	if !live {
		return ErrNotHeld
	}
	if cause != nil {
		return cause
	}
	if !h.c.begin() {
		return ErrClosed
	}
	defer h.c.tries.Done()
	e := extension{held: h, told: make(chan error, 1)}
	h.c.renew(lease, e)
	select {
	case err := <-e.told:
		return err
	case <-ctx.Done():
		return multilock.Fail("extend", h.name, multilock.Ended(ctx))
	}
}

// extension is the renewal that Extend asks for.
type extension struct {
	*held
	told chan error
}

func (e extension) Renewed(until clock.Instant) { e.told <- e.renewed(until) }

func (e extension) NotRenewed(err *MajorityError) {
	err.Op = "extend"
	if err.Lost() {
		e.lose(err)
	}
	if cause := e.check(); cause != nil {
		e.told <- cause // it may have been given back meanwhile
		return
	}
	e.told <- err
}
