package main

import (
	"errors"
	"fmt"
	"slices"

	"example.com/redlock/redlock"
)

// setInUse is how some clients use the masters: with the same masters, leases and guard.
type setInUse struct {
	label   string // A for the one that most use
	clients int
	one     *redlock.ClientInfo // of them
}

// setsInUse returns how clients use the masters, as most do first.
func setsInUse(clients []redlock.ClientInfo) (sets []*setInUse) {
	for i := range clients {
		c := &clients[i]
		k := slices.IndexFunc(sets, func(s *setInUse) bool { return s.one.Terms.Text() == c.Terms.Text() })
		if k < 0 {
			k, sets = len(sets), append(sets, &setInUse{one: c})
		}
		sets[k].clients++
	}
	slices.SortStableFunc(sets, func(a, b *setInUse) int { return b.clients - a.clients })
	for i, s := range sets {
		s.label = fmt.Sprintf("%d", i+1)
		if i < 26 {
			s.label = string(rune('A' + i))
		}
	}
	return sets
}

// relation is what two sets have to do with each other.
type relation struct {
	common int
	known  bool  // whether all of their masters are
	why    error // their clients must not take locks at the same time; nil if they may, as far as is known
}

// against compares s with another set. Masters that are not known may or may not be the same.
func (s *setInUse) against(other *setInUse) relation {
	r := relation{known: true, why: s.one.Conflict(other.one)}
	for _, m := range s.one.Terms.Masters {
		r.known = r.known && m.Run != ""
		for _, o := range other.one.Terms.Masters {
			if m.Run != "" && m.Run == o.Run {
				r.common++
			}
		}
	}
	for _, o := range other.one.Terms.Masters {
		r.known = r.known && o.Run != ""
	}
	return r
}

// safe reports whether it is known that clients of both may take locks at the same time. Whoever came
// second takes none.
func (r relation) safe(s, other *setInUse) bool {
	return r.why == nil && r.known || s.one.Terms.Refused || other.one.Terms.Refused
}

// say says what set s has to do with set other.
func (r relation) say(s, other *setInUse) string {
	begin := fmt.Sprintf("%s and %s have %s in common: ", other.label, s.label, counted(r.common, "master", "masters"))
	end := ""
	for _, side := range []*setInUse{s, other} {
		if side.one.Terms.Refused {
			end = fmt.Sprintf(" %s came second, and takes no lock.", side.label)
		}
	}
	switch a, b := &s.one.Terms, &other.one.Terms; {
	case errors.Is(r.why, redlock.ErrShortGuard):
		if b.Lease > a.Lease {
			s, other, a, b = other, s, b, a
		}
		return begin + fmt.Sprintf("NOT SAFE: %s takes leases of %v, and %s has a restart guard of %v, so two clients may hold the same name at once after masters restart.%s",
			s.label, ms(a.Lease), other.label, ms(b.Guard), end)
	case errors.Is(r.why, redlock.ErrRoute):
		return begin + fmt.Sprintf("NOT SAFE: %s spreads names over %s, and %s over %s, so two clients may hold the same name at once in different sets.%s",
			other.label, b.Route(), s.label, a.Route(), end)
	case r.why != nil:
		return begin + "NOT SAFE: a majority of one need not meet one of the other, so two clients may hold the same name at once." + end
	case len(a.Now) > 0 && len(b.Now) > 0 && a.Route() != b.Route():
		return begin + "the sets that names are spread over are changing, and names that move are locked in both. A rollout is under way until all clients have the same."
	case a.Part != "" && b.Part != "" && a.Part != b.Part:
		return begin + "they are two of several sets that names are spread over."
	case !r.known:
		return begin + "some masters are not connected, so it cannot be told whether majorities always meet. Look again soon."
	case r.common == len(a.Masters) && r.common == len(b.Masters):
		return begin + "they are the same masters, with other leases or guards, which go together."
	default:
		return begin + "each majority of one meets each of the other, so both are safe together. A change of the masters is under way until one set is left."
	}
}

// counted returns n with the word for as many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
