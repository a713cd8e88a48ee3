package protocol

import (
	"time"

	"example.com/redlock/clock"
)

// HoldState is where a [Hold] stands.
type HoldState uint8

const (
	// Short: it was handed off for a short lease, and is to be renewed to the one wanted.
	Short HoldState = iota
	// Valid: it has the lease that was wanted.
	Valid
	// Expired: validity has ended.
	Expired
	// Lost: so few masters have it that somebody else may have the lock.
	Lost
	// Released: it was given back.
	Released

	holdStates
)

func (s HoldState) String() string {
	return [holdStates]string{"short", "valid", "expired", "lost", "released"}[s]
}

// HoldArrow is a transition that a [Hold] may make, and what for.
type HoldArrow struct {
	From, To HoldState
	Why      string
}

// HoldArrows are all of them: what has ended stays so.
var HoldArrows = []HoldArrow{
	{Short, Valid, "renewed"},
	{Short, Expired, "validity over"},
	{Short, Lost, "found lost"},
	{Short, Released, "given back"},
	{Valid, Expired, "validity over"},
	{Valid, Lost, "found lost"},
	{Valid, Released, "given back"},
}

// Hold is a lock that was won, until it has ended. Its owner may enter it again: see [Entries].
//
// Source: docs/how-it-works.md, "Renew" and "Release".
type Hold struct {
	State  HoldState
	Until  clock.Instant // end of validity
	Ended  clock.Instant // when it ended, at the latest when its validity did
	Shared bool          // with other readers
	At     Set           // masters that may have it
	Unsent int           // renewals that were made and have yet to be sent

	Wish
	Due     bool // a renewal is due at RenewAt
	RenewAt clock.Instant
}

// RenewEvery returns the time between two renewals of a hold: a third of its lease.
func RenewEvery(lease time.Duration) time.Duration { return lease / 3 }

// HoldKind is the kind of a [HoldEvent].
type HoldKind uint8

const (
	HoldWon       HoldKind = iota // the first event: a contender took it, with the fields of its grant
	HoldWatch                     // from now on its entries want Wish
	HoldEnd                       // it is given back
	HoldDowngrade                 // it is shared from now on: a renewal for a reader is to be made
	HoldRenew                     // a renewal that is due is to be made
	HoldExtend                    // a renewal for a caller is to be made
	HoldSent                      // a renewal that was made was sent to the masters in At
	HoldRenewed                   // a majority confirmed a renewal that was due, Until then
	HoldExtended                  // a majority confirmed it to the caller, Until then
	HoldFailed                    // no majority confirmed a renewal that was due
	HoldDoubt                     // the masters in At may have forgotten it
	HoldLost                      // so few masters have it that somebody else may have the lock
	HoldDue                       // the end of validity has come

	// Of its entries, see [Entries].
	HoldEnter   // its owner wants to enter it again, Shared if as a reader
	HoldEntered // a majority confirmed that, Until then
	HoldDenied  // no majority did
	HoldLeft    // an entry was given back
)

// HoldEvent is something that happened to a [Hold].
type HoldEvent struct {
	Kind   HoldKind
	Until  clock.Instant
	At     Set
	Wish   Wish          // of HoldWon, HoldWatch and HoldEntered
	Short  bool          // of HoldWon: as the contender has it
	Shared bool          // of HoldWon: with other readers
	Lost   bool          // of HoldDenied: as HoldLost says
	Writer bool          // of HoldLost: it was found by what was sent for a writer
	Trip   time.Duration // bound on the round trip to the q-th fastest master
}

// HoldEffects are what a step of a [Hold] wants done. Whether it has ended, and when it is to be
// renewed, is read off the hold.
type HoldEffects struct {
	Release Set  // give it back at these masters
	Count   int  // above 0: have the masters set this hold count, which they must confirm to an entry
	Renew   bool // make a renewal, and send it: HoldSent follows
}

// Live reports whether the hold has not ended.
func (h *Hold) Live() bool { return h.State == Short || h.State == Valid }

// Step is the whole life of a hold. Whatever the event, a hold whose validity is over has ended,
// and never comes back. No renewal is made of one that has ended: its owner may have the lock for another
// hold by then, see [Kept].
func (h *Hold) Step(conf *Config, now clock.Instant, ev *HoldEvent, out *HoldEffects) {
	*out = HoldEffects{}
	if ev.Kind == HoldWon {
		h.won(conf, now, ev)
		return
	}
	if h.Live() && reached(now, h.Until) {
		h.end(Expired, now, out)
	}
	if ev.Kind == HoldSent {
		h.Unsent--
	}
	if !h.Live() {
		if ev.Kind == HoldSent {
			// The renewal may come after the release, and set the lock again: release it again.
			out.Release |= ev.At
		}
		return
	}
	kind := ev.Kind
	if kind == HoldLost && ev.Writer && h.Shared {
		kind = HoldFailed // masters that share the lock by now know no writer
	}
	switch kind {
	case HoldWatch:
		h.Want(ev.Wish)
		h.schedule(conf, now, ev.Trip)
	case HoldEnd:
		h.end(Released, now, out)
	case HoldExtend:
		h.make(out)
	case HoldRenew:
		h.make(out)
		h.Due = false
		if h.State == Short {
			// It may end before the masters' silence is taken for a no.
			h.renewIn(now, max(ev.Trip+conf.TopUp, now.Left(h.Until)/4))
		}
	case HoldSent:
		h.At |= ev.At // it heals
	case HoldRenewed:
		h.extend(now, ev.Until)
		if h.State == Short {
			// The next try is not needed, unless a doubt has made it due.
			h.State, h.Due = Valid, h.Watched && h.Due && reached(now, h.RenewAt)
		}
		h.schedule(conf, now, ev.Trip)
	case HoldExtended:
		h.extend(now, ev.Until)
	case HoldFailed:
		if h.State == Valid { // else the next try is due already, see HoldRenew
			again := h.Lease / 10
			h.renewIn(now, min(again, max(now.Left(h.Until)/4, again/10)))
		}
	case HoldDoubt:
		if h.At&ev.At != 0 {
			h.renewIn(now, 0)
		}
	case HoldLost:
		h.end(Lost, now, out)
	case HoldDowngrade:
		h.make(out)
		h.Shared = true
	}
}

// make has a renewal made.
func (h *Hold) make(out *HoldEffects) {
	h.Unsent++
	out.Renew = true
}

// won makes a hold of what a contender took.
func (h *Hold) won(conf *Config, now clock.Instant, ev *HoldEvent) {
	*h = Hold{State: Valid, Until: ev.Until, Shared: ev.Shared, At: ev.At, Wish: ev.Wish}
	if ev.Short {
		h.State = Short
	}
	h.schedule(conf, now, ev.Trip)
}

// end ends the hold, and gives it back.
func (h *Hold) end(state HoldState, now clock.Instant, out *HoldEffects) {
	h.State, h.Due = state, false
	h.Ended = now
	if reached(now, h.Until) {
		h.Ended = h.Until
	}
	out.Release = h.At
}

// extend moves the end of validity to until, unless it is later already.
func (h *Hold) extend(now, until clock.Instant) {
	if now.Left(until) > now.Left(h.Until) {
		h.Until = until
	}
}

// Want has the hold renewed as its entries want it from now on. Where they do not want it, or no longer when the
// next renewal is due, it ends with its validity: that renewal is not made, unless it is the first of a hold
// that was handed off. Want needs no instant, and makes no renewal due, which HoldWatch does.
func (h *Hold) Want(w Wish) {
	if !w.Watched {
		w.Lease = h.Lease
	}
	h.Wish = w
	if h.Due && h.Limited && reached(h.RenewAt, h.Limit) {
		h.Watched = false
	}
	if !h.Watched && h.State != Short {
		h.Due = false
	}
}

// schedule makes the next renewal due, if one is wanted.
func (h *Hold) schedule(conf *Config, now clock.Instant, trip time.Duration) {
	if h.State == Short {
		spare := now.Left(h.Until) - 2*trip // of two tries
		h.renewIn(now, max(0, min(conf.TopUp, spare/2)))
	} else {
		h.renewIn(now, RenewEvery(h.Lease))
	}
}

// renewIn makes a renewal due after d, unless one is due earlier, as long as renewals are wanted. A
// hold that was handed off is renewed to the lease that was wanted in any case.
func (h *Hold) renewIn(now clock.Instant, d time.Duration) {
	at := now.Add(d)
	if h.Due && at.Left(h.RenewAt) <= 0 {
		at = h.RenewAt
	}
	switch {
	case h.State != Short && !h.Watched:
	case h.Limited && reached(at, h.Limit):
		h.Watched, h.Due = false, false
	default:
		h.Due, h.RenewAt = true, at
	}
}
