package quorum

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestTerm(t *testing.T) {
	for _, tt := range []struct {
		name        string
		left        []time.Duration
		valid, last int
	}{
		{"no masters that vote", []time.Duration{0, 0, 0}, 0, -1},
		{"one of three", []time.Duration{0, 5, 0}, 1, -1},
		{"two of three", []time.Duration{7, 0, 5}, 2, 2},
		{"two of three, the longest last", []time.Duration{5, 0, 7}, 2, 0},
		{"all of three", []time.Duration{7, 9, 5}, 3, 0},
		{"two that ran out do not count", []time.Duration{-1, 0, 9}, 1, -1},
		{"a majority with one that ran out", []time.Duration{-7, 4, 3}, 2, 2},
		{"all ran out", []time.Duration{-1, -2, -3}, 0, -1},
		{"as long as each other", []time.Duration{5, 5, 5}, 3, 1},
		{"the q-th is one of two as long", []time.Duration{9, 5, 5}, 3, 1},
		{"two of four", []time.Duration{1, 2, 0, 0}, 2, -1},
		{"three of four", []time.Duration{1, 2, 0, 3}, 3, 0},
		{"all of five", []time.Duration{1, 2, 3, 4, 5}, 5, 2},
		{"a nanosecond is valid", []time.Duration{1, time.Hour, 0}, 2, 0},
		{"one master", []time.Duration{3}, 1, 0},
		{"one master that does not vote", []time.Duration{0}, 0, -1},
		{"two masters need both", []time.Duration{3, 0}, 1, -1},
		{"both of two", []time.Duration{3, 4}, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if valid, last := Term(tt.left); valid != tt.valid || last != tt.last {
				t.Errorf("Term(%v) = %d, %d, want %d, %d", tt.left, valid, last, tt.valid, tt.last)
			}
		})
	}
}

// dumbTerm lets time pass and checks, at every moment, whether a majority of votes is still valid.
func dumbTerm(left []time.Duration) (valid int, ends time.Duration) {
	voting := func(at time.Duration) (c int) {
		for _, d := range left {
			if d > at {
				c++
			}
		}
		return c
	}
	for 2*voting(ends) > len(left) {
		ends++
	}
	return voting(0), ends
}

// terms draws votes. Some of them have expired, and some last equally long.
func terms(t *rapid.T, n int) []time.Duration {
	some := rapid.Map(rapid.IntRange(-3, 12), func(d int) time.Duration { return time.Duration(d) })
	return rapid.SliceOfN(some, n, n).Draw(t, "left")
}

// A majority lasts exactly as long as the vote that Term names.
func TestTermAgainstTheClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := terms(t, rapid.IntRange(1, 7).Draw(t, "n"))
		valid, last := Term(left)
		wantValid, ends := dumbTerm(left)
		if valid != wantValid {
			t.Fatalf("Term(%v) = %d valid, want %d", left, valid, wantValid)
		}
		if (last >= 0) != (ends > 0) {
			t.Fatalf("Term(%v) = %d, want a majority: %v", left, last, ends > 0)
		}
		if last >= 0 && left[last] != ends {
			t.Errorf("Term(%v) = %d, which ends at %v, want %v", left, last, left[last], ends)
		}
	})
}

// The vote that Term names is the shortest of the q longest.
func TestTermIsTheLeastOfTheLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := terms(t, rapid.IntRange(1, 9).Draw(t, "n"))
		_, last := Term(left)
		if last < 0 {
			return
		}
		sorted := slices.Sorted(slices.Values(left))
		longest := sorted[len(sorted)-Majority(len(left)):]
		if got, want := left[last], slices.Min(longest); got != want {
			t.Errorf("Term(%v) names a vote of %v, want %v, the least of %v", left, got, want, longest)
		}
	})
}

// If each master votes for one owner at a time, two owners never have a majority at once, since
// their majorities share a master. Here each master votes for A, and for B when A's vote has expired.
func TestTermsOfTwoOwnersDoNotOverlap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 7).Draw(t, "n")
		ofA := terms(t, n)
		after := terms(t, n) // how long B's vote lasts after A's has ended
		for at := range time.Duration(30) {
			a, b := make([]time.Duration, n), make([]time.Duration, n)
			for i := range n {
				a[i] = ofA[i] - at
				if a[i] <= 0 {
					b[i] = max(0, ofA[i]) + after[i] - at
				}
			}
			_, lastA := Term(a)
			_, lastB := Term(b)
			if lastA >= 0 && lastB >= 0 {
				t.Fatalf("both have a majority: Term(%v) = %d and Term(%v) = %d", a, lastA, b, lastB)
			}
		}
	})
}

// The order of the masters does not matter, and a longer vote never makes a majority end sooner.
func TestTermGrowsWithItsVotes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := terms(t, rapid.IntRange(1, 7).Draw(t, "n"))
		ends := func(left []time.Duration) time.Duration {
			if _, last := Term(left); last >= 0 {
				return left[last]
			}
			return 0
		}
		shuffled := rapid.Permutation(left).Draw(t, "shuffled")
		if got, want := ends(shuffled), ends(left); got != want {
			t.Errorf("Term(%v) ends at %v, Term(%v) at %v", shuffled, got, left, want)
		}
		longer := slices.Clone(left)
		longer[rapid.IntRange(0, len(left)-1).Draw(t, "master")] += 2
		if ends(longer) < ends(left) {
			t.Errorf("Term(%v) ends at %v, before Term(%v) at %v", longer, ends(longer), left, ends(left))
		}
	})
}

func ExampleTerm() {
	// Three of five masters have a vote that is still valid, for the times given.
	valid, last := Term([]time.Duration{0, 3 * time.Second, time.Second, 0, 2 * time.Second})
	fmt.Println(valid, last)
	// Output: 3 2
}
