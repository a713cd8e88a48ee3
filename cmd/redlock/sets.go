package main

import (
	"fmt"
	"slices"
	"strings"

	"example.com/redlock/quorum"
	"example.com/redlock/redlock"
)

// setInUse is a set of masters that clients use.
type setInUse struct {
	label   string // A for the one that most use
	text    string // as [redlock.ClientInfo] has it
	clients int
	masters int
	known   []string // run ids; fewer than masters where somebody is not connected
}

// setsInUse returns the sets that clients use, the one that most use first.
func setsInUse(clients []redlock.ClientInfo) (sets []*setInUse) {
	for _, c := range clients {
		i := slices.IndexFunc(sets, func(s *setInUse) bool { return s.text == c.Set })
		if i < 0 {
			_, list, _ := strings.Cut(c.Set, ":")
			known := slices.DeleteFunc(strings.Split(list, ","), func(run string) bool { return run == "?" || run == "" })
			i, sets = len(sets), append(sets, &setInUse{text: c.Set, masters: c.Masters, known: known})
		}
		sets[i].clients++
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
	known  bool // whether all of their masters are
	meet   bool // each majority of one has a master in common with each of the other
}

// against compares s with another set. Masters that are not known may or may not be the same.
func (s *setInUse) against(other *setInUse) relation {
	r := relation{known: len(s.known) == s.masters && len(other.known) == other.masters}
	for _, run := range s.known {
		if slices.Contains(other.known, run) {
			r.common++
		}
	}
	r.meet = quorum.Meet(s.masters, other.masters, r.common)
	return r
}

// say says what set s has to do with set other.
func (r relation) say(s, other *setInUse) string {
	switch begin := fmt.Sprintf("%s and %s have %s in common: ", other.label, s.label, counted(r.common, "master", "masters")); {
	case r.meet:
		return begin + "each majority of one meets each of the other, so both are safe together. A change of the masters is under way until one set is left."
	case !r.known:
		return begin + "some masters are not connected, so it cannot be told whether majorities always meet. Look again soon."
	default:
		return begin + "NOT SAFE: a majority of one need not meet one of the other, so two clients may hold the same name at once."
	}
}

// counted returns n with the word for as many.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
