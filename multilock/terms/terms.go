// Package terms says how clients use their masters, and which of them go together: whose majorities meet, and
// whose leases and restart guards fit. It works that out from what clients say of themselves, and asks nobody.
// It serves packages multilock and doctor: its API is not stable.
package terms

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// Terms are how a client uses its masters, as it tells other clients: which masters, which of several
// sets they are, and for how long a lease and a restart guard last at most.
type Terms = script.Terms

// Master is a master, as the terms of a client name it.
type Master = script.Master

// Why two clients must not use the same masters at the same time.
var (
	// ErrOverlap says that two clients use some masters together, and that majorities of all that each
	// uses need not meet: both can hold one name at once.
	ErrOverlap = errors.New("redlock: other clients use some of the masters together with others")

	// ErrShortGuard says that one client takes leases that are longer than the restart guard of another,
	// which would grant a lock again that masters forgot when they restarted.
	ErrShortGuard = errors.New("redlock: leases of a client outlast the restart guard of another")

	// ErrRoute says that two clients spread names over different sets of masters, and have no list of sets
	// in common: both can hold one name at once, each in another set.
	ErrRoute = errors.New("redlock: other clients spread names over other sets of masters")

	// ErrLayout says that the libraries of two clients store locks in different ways: each misreads the locks of the
	// other, so both can hold one name at once.
	ErrLayout = errors.New("redlock: other clients store locks in another layout")
)

// Conflict says why clients with terms a and b must not take locks at the same time, where they meet at
// a master: [ErrOverlap], [ErrShortGuard], [ErrRoute] or [ErrLayout]. It is nil if they may, or if that is not known.
//
// Clients of sets with different IDs share masters, and no names. What b says of the set that a is of counts.
func Conflict(a, b *Terms) error {
	masters, same := b.Masters, true
	if a.Part != "" && b.Part != "" && a.Part != b.Part {
		masters, same = b.Others[a.Part], false
	}
	switch {
	case a.Layout != b.Layout && a.Layout != 0 && b.Layout != 0:
		return ErrLayout
	case !compatible(a, b):
		return ErrRoute
	case len(masters) > 0 && !quorum.Meet(len(a.Masters), len(masters), common(a.Masters, masters, maySame)):
		return ErrOverlap
	case same && (outlasts(a, b) || outlasts(b, a)):
		return ErrShortGuard
	}
	return nil
}

// compatible reports whether clients exclude each other in one set for each name: that of a list of sets
// that both have. A client that spreads no names says nothing of that.
func compatible(a, b *Terms) bool {
	for _, list := range [][]string{a.Now, a.Next} {
		if len(list) > 0 && (slices.Equal(list, b.Now) || slices.Equal(list, b.Next)) {
			return true
		}
	}
	return len(a.Now) == 0 || len(b.Now) == 0
}

// outlasts reports whether leases of a last longer than the guard of b. A client without a guard says that
// masters forget nothing.
func outlasts(a, b *Terms) bool { return b.Guard > 0 && a.Lease > b.Guard }

// common returns how many masters a and b have in common, at most: a maximum matching, in which each
// master may be one that is the same.
func common(a, b []Master, same func(a, b *Master) bool) (n int) {
	taken := make([]int, len(b)) // by which of a, plus 1
	var place func(i int, tried []bool) bool
	place = func(i int, tried []bool) bool {
		for j := range b {
			if tried[j] || !same(&a[i], &b[j]) {
				continue
			}
			tried[j] = true
			if taken[j] == 0 || place(taken[j]-1, tried) {
				taken[j] = i + 1
				return true
			}
		}
		return false
	}
	for i := range a {
		if place(i, make([]bool, len(b))) {
			n++
		}
	}
	return n
}

// maySame reports whether two clients may mean the same master. Run ids tell, since one server may have several
// addresses; and addresses only where a process is young, so that others may know it by the run id before, or a
// client has not been connected for long. One that never was takes no lock there either, and looks again when it is.
func maySame(a, b *Master) bool {
	switch {
	case a.Run == "" || b.Run == "" || script.Same(a, b):
		return true
	case a.DB != b.DB && a.DB >= 0 && b.DB >= 0:
		return false
	}
	return (a.Young || b.Young || a.Gone || b.Gone) && !script.Elsewhere(a, b)
}

// SameMasters reports whether a and b may have the same masters, as far as they are known.
func SameMasters(a, b *Terms) bool {
	return len(a.Masters) == len(b.Masters) && common(a.Masters, b.Masters, maySame) == len(a.Masters)
}

// set names the set that t is of, if its client has several.
func set(t *Terms) string {
	if t.Part == "" {
		return "no sets"
	}
	return fmt.Sprintf("set %q", t.Part)
}

// ConflictError says that other clients use the masters in a way that does not go together with that of
// this client. It matches [ErrOverlap], [ErrShortGuard], [ErrRoute] or [ErrLayout].
type ConflictError struct {
	Reason     error // one of these
	Own, Other Terms
	Client     *ClientInfo // one that has the other terms, nil if that has no record
	Master     string      // that told
	Refused    bool        // this client takes no lock, since the other was established before
}

// Unwrap returns the reason.
func (e *ConflictError) Unwrap() error { return e.Reason }

func (e *ConflictError) Error() string {
	by := "a client that has ended or keeps no record"
	if e.Client != nil {
		by = e.Client.String()
	}
	text := e.Reason.Error() + ": "
	switch {
	case e.Reason == ErrLayout:
		text += fmt.Sprintf("%s has layout %d, this client layout %d", by, e.Other.Layout, e.Own.Layout)
	case e.Reason == ErrOverlap && e.Own.Part != e.Other.Part && e.Own.Part != "" && e.Other.Part != "":
		text += fmt.Sprintf("%s uses %v as set %q, this client %v", by, &Terms{Masters: e.Other.Others[e.Own.Part]}, e.Own.Part, &e.Own)
	case e.Reason == ErrOverlap && e.Own.Part != e.Other.Part:
		text += fmt.Sprintf("%s uses %v (%s), this client %v (%s)", by, &e.Other, set(&e.Other), &e.Own, set(&e.Own))
	case e.Reason == ErrOverlap:
		text += fmt.Sprintf("%s uses %v, this client %v", by, &e.Other, &e.Own)
	case e.Reason == ErrRoute:
		text += fmt.Sprintf("%s has %s, this client %s", by, e.Other.Route(), e.Own.Route())
	case outlasts(&e.Own, &e.Other):
		text += fmt.Sprintf("this client takes leases of %v, and %s has a guard of %v", ms(e.Own.Lease), by, ms(e.Other.Guard))
	default:
		text += fmt.Sprintf("%s takes leases of %v, and this client has a guard of %v", by, ms(e.Other.Lease), ms(e.Own.Guard))
	}
	if e.Refused {
		text += "; that was established before, so this client takes no lock"
		if e.Own.Part != "" {
			text += fmt.Sprintf(" in set %q", e.Own.Part)
		}
	}
	return fmt.Sprintf("%s (told by %s)", text, e.Master)
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
