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
)

// Conflict says why clients with terms a and b must not take locks at the same time, where they meet at
// a master: [ErrOverlap], [ErrShortGuard] or [ErrRoute]. It is nil if they may, or if that cannot be told.
//
// Clients of sets with different ids spread names over them: they share masters, and no names.
func Conflict(a, b *Terms) error {
	switch {
	case !compatible(a, b):
		return ErrRoute
	case a.Part != "" && b.Part != "" && a.Part != b.Part:
		return nil
	case !quorum.Meet(len(a.Masters), len(b.Masters), common(a, b)):
		return ErrOverlap
	case outlasts(a, b) || outlasts(b, a):
		return ErrShortGuard
	}
	return nil
}

// compatible reports whether clients exclude each other in one set for each name: that of a list of sets
// that both have. Who spreads no names says nothing of that.
func compatible(a, b *Terms) bool {
	for _, list := range [][]string{a.Now, a.Next} {
		if len(list) > 0 && (slices.Equal(list, b.Now) || slices.Equal(list, b.Next)) {
			return true
		}
	}
	return len(a.Now) == 0 || len(b.Now) == 0
}

// outlasts reports whether leases of a last longer than the guard of b. Who has no guard says that
// masters forget nothing.
func outlasts(a, b *Terms) bool { return b.Guard > 0 && a.Lease > b.Guard }

// common returns how many masters a and b have in common, at most: a maximum matching, in which each
// master may be one that it is the same as.
func common(a, b *Terms) (n int) {
	taken := make([]int, len(b.Masters)) // by which of a, plus 1
	var place func(i int, tried []bool) bool
	place = func(i int, tried []bool) bool {
		for j := range b.Masters {
			if tried[j] || !maySame(&a.Masters[i], &b.Masters[j]) {
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
	for i := range a.Masters {
		if place(i, make([]bool, len(b.Masters))) {
			n++
		}
	}
	return n
}

// maySame reports whether two clients may mean the same master. One server may have several addresses,
// so its run id alone decides. But that changes when it restarts, of which one of them may not know yet; and
// who is not connected does not know it. One who is not connected cannot take a lock there either.
func maySame(a, b *Master) bool {
	return a.Run == "" || b.Run == "" || a.Run == b.Run || a.Young || b.Young
}

// SameMasters reports whether a and b have the same masters, as far as they are known.
func SameMasters(a, b *Terms) bool {
	return len(a.Masters) == len(b.Masters) && common(a, b) == len(a.Masters)
}

// ConflictError says that other clients use the masters in a way that does not go together with that of
// this client. It matches [ErrOverlap], [ErrShortGuard] or [ErrRoute].
type ConflictError struct {
	Reason     error // one of these
	Own, Other Terms
	Client     *ClientInfo // one that has the other terms, nil if that has no record
	Master     string      // that told
	Refused    bool        // this client came second, and takes no lock
}

// Unwrap returns the reason.
func (e *ConflictError) Unwrap() error { return e.Reason }

func (e *ConflictError) Error() string {
	by := "a client without a record"
	if e.Client != nil {
		by = e.Client.String()
	}
	text := e.Reason.Error() + ": "
	switch {
	case e.Reason == ErrOverlap:
		text += fmt.Sprintf("%s uses %v, this client %v", by, &e.Other, &e.Own)
	case e.Reason == ErrRoute:
		text += fmt.Sprintf("%s has %s, this client %s", by, e.Other.Route(), e.Own.Route())
	case outlasts(&e.Own, &e.Other):
		text += fmt.Sprintf("this client takes leases of %v, and %s has a guard of %v", ms(e.Own.Lease), by, ms(e.Other.Guard))
	default:
		text += fmt.Sprintf("%s takes leases of %v, and this client has a guard of %v", by, ms(e.Other.Lease), ms(e.Own.Guard))
	}
	switch {
	case e.Refused:
		text += "; this client came second, and takes no lock"
	case e.Other.Refused:
		text += "; it came second, and takes no lock"
	}
	return fmt.Sprintf("%s (told by %s)", text, e.Master)
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
