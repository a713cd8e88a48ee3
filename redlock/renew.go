package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock"
	"example.com/redlock/node"
)

// Hold implements [multilock.Renewal].
func (h *held) Hold() node.Renewal {
	h.mu.Lock()
	defer h.mu.Unlock()
	return node.Renewal{Owner: h.claim.Owner, Count: len(h.levels), Token: h.claim.Token}
}

// Renewed implements [multilock.Renewal] for the watchdog.
func (h *held) Renewed(until clock.Instant) {
	if h.renewed(until) != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.short = false
	h.watchOn()
}

// NotRenewed implements [multilock.Renewal] for the watchdog. As long as there is
// validity left, a round that failed is followed by another soon.
func (h *held) NotRenewed(err *MajorityError) {
	if errors.Is(err, ErrLost) {
		h.lose(err)
		return
	}
	left := h.remaining()
	h.c.cfg.Logger.Warn("redlock: renewal failed", "name", h.name, "left", left, "error", err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.why = err
	if h.cause == nil {
		h.c.dog.watch(h, min(renewAgain(h.lease), max(left/4, time.Millisecond)))
	}
}

// watchOn has the watchdog renew the hold when it is time, if that is wanted. h.mu is
// held.
func (h *held) watchOn() {
	if h.cause != nil {
		return
	}
	if h.short {
		h.c.dog.watch(h, min(topUp, clock.Until(h.until)/4))
	} else if h.watch {
		h.c.dog.watch(h, renewEvery(h.lease))
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
	lease = lease.Truncate(time.Millisecond)
	if err := h.c.cfg.checkLease("lease", lease); err != nil {
		return err
	}
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
	h.c.masters.Renew(lease, []multilock.Renewal{e})
	select {
	case err := <-e.told:
		return err
	case <-ctx.Done():
		return fmt.Errorf("redlock: extend %q: %w", h.name, multilock.Ended(ctx))
	}
}

// extension is the renewal that Extend asks for.
type extension struct {
	*held
	told chan error
}

func (e extension) Renewed(until clock.Instant) { e.told <- e.renewed(until) }

func (e extension) NotRenewed(err *MajorityError) {
	if errors.Is(err, ErrLost) {
		e.lose(err)
	}
	e.told <- err
}
