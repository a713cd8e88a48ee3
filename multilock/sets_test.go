package multilock

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestFingerprint(t *testing.T) {
	set := fingerprint([]string{"5e6f708192a3b4c5", "", "1a2b3c4d00000000", ""})
	if want := "4:1a2b3c4d,5e6f7081,?,?"; set != want {
		t.Errorf("fingerprint = %q, want %q", set, want)
	}
	for _, part := range []string{"", "east", "the east, and more"} {
		s, ok := parseSet(inUse(set, part))
		if !ok || s.text != set || s.part != part || s.unknown != 2 || !slices.Equal(s.known, []string{"1a2b3c4d", "5e6f7081"}) {
			t.Errorf("parseSet of the set with part %q = %+v, %v", part, s, ok)
		}
	}
	for _, text := range []string{"", "3", "3:", "x:a", "0:", "2:a", "17:a", "-1:a", "2:a,b,c"} {
		if s, ok := parseSet(text); ok {
			t.Errorf("parseSet(%q) = %+v, want none", text, s)
		}
	}
}

// TestCommon: unknown masters are whichever make the two sets most alike, by trying all.
func TestCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	draw := func() setOf {
		names := strings.Split("abcdefg", "")
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		known := r.IntN(4)
		return setOf{known: names[:known], unknown: r.IntN(4)}
	}
	for range 3000 {
		a, b := draw(), draw()
		want := 0
		for _, x := range all(a, "abcdefghij") {
			for _, y := range all(b, "abcdefghij") {
				n := 0
				for _, run := range x {
					if slices.Contains(y, run) {
						n++
					}
				}
				want = max(want, n)
			}
			if a.unknown+b.unknown > 3 {
				break // it takes too long; some are enough to see that no more are in common
			}
		}
		got := a.common(&b)
		if a.unknown+b.unknown > 3 && got >= want || got == want {
			continue
		}
		t.Errorf("%+v and %+v have %d in common, want %d", a, b, got, want)
	}
}

// all returns all sets that s may be, out of so many masters.
func all(s setOf, masters string) (sets [][]string) {
	sets = [][]string{s.known}
	for range s.unknown {
		var more [][]string
		for _, set := range sets {
			for run := range strings.SplitSeq(masters, "") {
				if !slices.Contains(set, run) {
					more = append(more, append(slices.Clone(set), run))
				}
			}
		}
		sets = more
	}
	return sets
}
