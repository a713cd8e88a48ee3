package judge

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/redlock/internal/history"
)

// Order is the check that all holds of a key fit into one order.
const Order = "order"

// order asks porcupine whether the holds of each key could have come from a lock that does one thing after
// the other: take it, turn a writer into a reader, end. A take has its place between the call and the grant;
// a hold ends after it was last seen to be valid. How long after does not matter, since a hold that ends
// earlier makes nothing harder: so it ends there and then.
//
// With tokens this is more than exclusion and tokens together: of two who waited at the same time, the one
// who got in only after the other had left needs the larger token.
//
// A part of the holds of a valid history is a valid history. So it is enough to look at windows, which
// bounds the time, and a part that fits into no order is a proof by itself.
func order(r *record) Check {
	check := Check{Name: Order}
	for _, key := range r.keys {
		holds := stays(slices.DeleteFunc(slices.Clone(r.byKey[key]), func(h *history.Hold) bool { return r.stale(h) != nil }))
		check.Looked += len(holds)
		for len(holds) > 0 {
			n := min(windowSize, len(holds))
			rest := r.disorders(key, holds[:n], &check)
			if n == len(holds) {
				break
			}
			holds = append(rest[len(rest)-windowOverlap:], holds[n:]...)
		}
	}
	return check
}

const (
	windowSize    = 1000 // holds that are looked at together
	windowOverlap = 200  // of them also in the next window: more than ever wait at a time
	maxPerWindow  = 20   // violations that are told of one window, and holds that it loses: each takes several searches
)

// patience is for how long porcupine may search for one order. Tests have less.
var patience = 10 * time.Second

// disorders tells what is wrong with some stays, and returns those that are left without it. That a search was
// given up is no proof of an error, but a run that was not checked has not passed.
func (r *record) disorders(key string, some []stay, check *Check) (rest []stay) {
	rest = slices.Clone(some)
	for range maxPerWindow {
		fits := r.fits(rest)
		if fits == porcupine.Ok {
			return rest
		}
		if fits == porcupine.Unknown {
			break
		}
		part := r.shortest(rest)
		r.disorder(key, part, check)
		// Go on without the last of them.
		rest = slices.DeleteFunc(rest, func(s stay) bool { return s.hold == part[len(part)-1].hold })
	}
	from := some[0].hold.Event
	check.add(r, from.At, key+": the judge gave up, which shows nothing of the rest that begins here", from)
	return rest
}

// stay is a hold as this check sees it.
type stay struct {
	hold  *history.Hold
	from  time.Duration // it was taken after
	valid time.Duration // it ended after; 0 if only after it was taken
}

func stays(holds []*history.Hold) []stay {
	all := make([]stay, len(holds))
	for i, h := range holds {
		all[i] = stay{hold: h, from: h.By.At}
		if len(h.Looks) > 1 { // as in exclusion
			all[i].valid = h.Alive()
		}
	}
	return all
}

// shortest returns as few of the stays as show that there is no order, each with what is needed of it. That
// is two of them, wherever two contradict each other.
func (r *record) shortest(all []stay) []stay {
	fails := func(some []stay) bool { return r.fits(some) == porcupine.Illegal }
	// The first so many of them, and then the last of these: both can be searched for, since more of them
	// fit into an order no better than fewer.
	last := sort.Search(len(all), func(i int) bool { return fails(all[:i+1]) })
	all = slices.Clone(all[:min(last+1, len(all))])
	all = all[sort.Search(len(all), func(i int) bool { return !fails(all[i+1:]) }):]
	if ends := []stay{all[0], all[len(all)-1]}; fails(ends) {
		all = ends
	}
	for i := range all {
		for _, without := range []func(*stay){func(s *stay) { s.valid = 0 }, func(s *stay) { s.from = 0 }} {
			kept := all[i]
			if without(&all[i]); !fails(all) {
				all[i] = kept
			}
		}
	}
	return all
}

// disorder tells of stays that fit into no order.
func (r *record) disorder(key string, part []stay, check *Check) {
	var at time.Duration
	var who []string
	var events []history.Event
	for _, s := range part {
		at = max(at, s.hold.At)
		who = append(who, fmt.Sprintf("%s (token %d)", s.hold.Who, s.hold.Token))
		if s.from > 0 {
			events = append(events, s.hold.By.Event)
		}
		events = append(events, s.hold.Event)
		if s.valid > 0 {
			events = append(events, *s.hold.Looks[len(s.hold.Looks)-1])
		}
	}
	check.add(r, at, fmt.Sprintf("%s: the holds of %s fit into no order", key, strings.Join(who, " and ")), events...)
}
