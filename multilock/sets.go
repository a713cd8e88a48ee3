package multilock

import (
	"slices"
	"strconv"
	"strings"
)

// Sets of masters, as clients tell each other which they use: by run ids, since one server may go by
// several addresses.

// shortRun is how many digits of a run id are told.
const shortRun = 8

// fingerprint returns a set of masters in words: how many there are, and the beginnings of their run
// ids, sorted; "?" where runs has none.
func fingerprint(runs []string) string {
	var known, unknown []string
	for _, run := range runs {
		if run == "" {
			unknown = append(unknown, "?")
		} else {
			known = append(known, run[:min(len(run), shortRun)])
		}
	}
	slices.Sort(known)
	return strconv.Itoa(len(runs)) + ":" + strings.Join(append(known, unknown...), ",")
}

// inUse returns how a set is told to others: part is that of Masters.Part.
func inUse(set, part string) string {
	if part == "" {
		return set
	}
	return set + " " + part
}

// setOf is a set as a client told it.
type setOf struct {
	text    string // without its part
	part    string
	known   []string
	unknown int
}

// parseSet reads what inUse returned.
func parseSet(text string) (s setOf, ok bool) {
	s.text, s.part, _ = strings.Cut(text, " ")
	count, list, ok := strings.Cut(s.text, ":")
	n, err := strconv.Atoi(count)
	if !ok || err != nil || n < 1 || n > Max {
		return s, false
	}
	for run := range strings.SplitSeq(list, ",") {
		if run == "?" {
			s.unknown++
		} else {
			s.known = append(s.known, run)
		}
	}
	return s, s.len() == n
}

func (s *setOf) len() int { return len(s.known) + s.unknown }

// common returns how many masters s and t have in common, at most: each master that is not known may
// be any that the other set has.
func (s *setOf) common(t *setOf) int {
	both := 0
	for _, run := range s.known {
		if slices.Contains(t.known, run) {
			both++
		}
	}
	onlyS, onlyT := len(s.known)-both, len(t.known)-both
	inT, inS := min(s.unknown, onlyT), min(t.unknown, onlyS)
	return both + inT + inS + min(s.unknown-inT, t.unknown-inS)
}
