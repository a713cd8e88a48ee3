package protocol

import (
	"time"

	"example.com/redlock/clock"
)

// HoldState is where a [Hold] stands.
type HoldState uint8

const (
	// Short: it was handed off for a short lease, and is to be renewed to the one wanted. Or some
	// masters gave it other slots, which a renewal frees.
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

// Hold is a lock that was won, until it has ended. Its owner may enter it again: Entries is the
// hold count.
//
// Source: docs/algorithm.md, "Renew" and "Release".
type Hold struct {
	State   HoldState
	Until   clock.Instant // end of validity
	Ended   clock.Instant // when it ended, at the latest when its validity did
	Entries int           // hold count
	Shared  bool          // with other readers
	At      Set           // masters that may have it

	Lease   time.Duration // that a renewal is for
	Watched bool          // it is renewed until it is given back
	Limited bool          // by Limit
	Limit   clock.Instant // no renewal is due then or later
	Due     bool          // a renewal is due at RenewAt
	RenewAt clock.Instant
}

// RenewEvery returns the time between two renewals of a hold: a third of its lease.
func RenewEvery(lease time.Duration) time.Duration { return lease / 3 }

// renewAgain returns the time until the next renewal after one that failed.
func renewAgain(lease time.Duration) time.Duration { return lease / 10 }

// HoldKind is the kind of a [HoldEvent].
type HoldKind uint8

const (
	HoldWon       HoldKind = iota // the first event: a contender took it, with the fields of its grant
	HoldWatch                     // renew it to Lease from now on
	HoldEnter                     // its owner enters it again: a round is about to be sent
	HoldLeave                     // one of its entries is given back, or was not confirmed
	HoldEnd                       // all of them are given back
	HoldDowngrade                 // it is shared from now on, and renewed for a reader
	HoldRenew                     // a renewal that is due is about to be sent
	HoldSent                      // a renewal was sent to the masters in At
	HoldRenewed                   // a majority confirmed a renewal that was due, Until then
	HoldExtended                  // a majority confirmed it to the caller, Until then
	HoldFailed                    // no majority confirmed a renewal that was due
	HoldLost                      // so few masters have it that somebody else may have the lock
	HoldDue                       // the end of validity has come
)

// HoldEvent is something that happened to a [Hold].
type HoldEvent struct {
	Kind   HoldKind
	Until  clock.Instant
	At     Set
	Lease  time.Duration
	Short  bool          // of HoldWon: as the contender has it
	Shared bool          // of HoldWon: with other readers
	Writer bool          // of HoldLost: it was found by a renewal that was sent for a writer
	Watch  bool          // of HoldWon: as HoldWatch
	Limit  time.Duration // of the time that it is watched; 0: none
	Trip   time.Duration // bound on the round trip to the q-th fastest master
}

// HoldEffects are what a step of a [Hold] wants done. Whether it has ended, and when it is to be
// renewed, is read off the hold.
type HoldEffects struct {
	Release Set  // give it back at these masters
	Count   Set  // set the hold count to Entries at these masters
	Ceased  bool // it is renewed no more, since its limit has come
}

// Live reports whether the hold has not ended.
func (h *Hold) Live() bool { return h.State == Short || h.State == Valid }

// Step is the whole life of a hold. Whatever the event, a hold whose validity is over has ended,
// and never comes back.
func (h *Hold) Step(conf *Config, now clock.Instant, ev *HoldEvent, out *HoldEffects) {
	*out = HoldEffects{}
	if ev.Kind == HoldWon {
		h.won(conf, now, ev, out)
		return
	}
	if h.Live() && reached(now, h.Until) {
		h.end(Expired, now, out)
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
		h.watch(conf, now, ev, out)
	case HoldEnter:
		h.Entries++
	case HoldLeave:
		h.Entries--
		if h.Entries == 0 {
			h.end(Released, now, out)
		} else {
			out.Count = h.At
		}
	case HoldEnd:
		h.end(Released, now, out)
	case HoldRenew:
		h.Due = false
		if h.State == Short {
			// It may end before the masters' silence is taken for a no.
			h.renewIn(now, max(ev.Trip+conf.TopUp, now.Left(h.Until)/4), out)
		}
	case HoldSent:
		h.At |= ev.At // it heals
	case HoldRenewed:
		h.extend(now, ev.Until)
		if h.State == Short {
			h.State, h.Due = Valid, false // the next try is not needed
		}
		h.schedule(conf, now, ev.Trip, out)
	case HoldExtended:
		h.extend(now, ev.Until)
	case HoldFailed:
		if h.State == Valid { // else the next try is due already, see HoldRenew
			again := renewAgain(h.Lease)
			h.renewIn(now, min(again, max(now.Left(h.Until)/4, again/10)), out)
		}
	case HoldLost:
		h.end(Lost, now, out)
	case HoldDowngrade:
		h.Shared = true
	}
}

// won makes a hold of what a contender took.
func (h *Hold) won(conf *Config, now clock.Instant, ev *HoldEvent, out *HoldEffects) {
	*h = Hold{State: Valid, Until: ev.Until, Entries: 1, Shared: ev.Shared, At: ev.At, Lease: ev.Lease}
	if ev.Short {
		h.State = Short
	}
	if ev.Watch {
		h.watch(conf, now, ev, out)
	} else {
		h.schedule(conf, now, ev.Trip, out)
	}
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

// watch has the hold renewed until it is given back, or until its limit, which counts from the
// first time.
func (h *Hold) watch(conf *Config, now clock.Instant, ev *HoldEvent, out *HoldEffects) {
	h.Watched, h.Lease = true, ev.Lease
	if ev.Limit > 0 && !h.Limited {
		h.Limited, h.Limit = true, now.Add(ev.Limit)
	}
	h.schedule(conf, now, ev.Trip, out)
}

// Unwatch ends the renewals of the hold. It then ends with its validity. It needs no instant.
func (h *Hold) Unwatch() {
	h.Watched = false
	if h.State != Short {
		h.Due = false
	}
}

// schedule makes the next renewal due, if one is wanted.
func (h *Hold) schedule(conf *Config, now clock.Instant, trip time.Duration, out *HoldEffects) {
	if h.State == Short {
		spare := now.Left(h.Until) - 2*trip // of two tries
		h.renewIn(now, max(0, min(conf.TopUp, spare/2)), out)
	} else {
		h.renewIn(now, RenewEvery(h.Lease), out)
	}
}

// renewIn makes a renewal due after d, unless one is due earlier, as long as renewals are wanted. A
// hold that was handed off is renewed to the lease that was wanted in any case.
func (h *Hold) renewIn(now clock.Instant, d time.Duration, out *HoldEffects) {
	at := now.Add(d)
	switch {
	case h.State != Short && !h.Watched:
	case h.Limited && reached(at, h.Limit):
		out.Ceased = true
		h.Unwatch()
	case !h.Due || at.Left(h.RenewAt) > 0:
		h.Due, h.RenewAt = true, at
	}
}
