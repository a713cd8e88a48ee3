package quorum

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// dumbVote tries every outcome of the missing answers.
func dumbVote(n, yes, no int) Result {
	canWin, canLose := false, false
	for more := range n - yes - no + 1 {
		if 2*(yes+more) > n {
			canWin = true
		} else {
			canLose = true
		}
	}
	if !canLose {
		return Won
	}
	if !canWin {
		return Lost
	}
	return Pending
}

func TestVoteAgainstEveryOutcome(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for yes := range n + 1 {
			for no := range n - yes + 1 {
				if got, want := Vote(n, yes, no), dumbVote(n, yes, no); got != want {
					t.Errorf("Vote(%d, %d, %d) = %v, want %v", n, yes, no, got, want)
				}
			}
		}
	}
}

// dumbMeet tries each majority of the one set with each of the other. The first set is masters 0 to
// n-1, and the second begins common masters before the end of the first.
func dumbMeet(n, m, common int) bool {
	majority := func(of int, set uint) bool { return 2*bits.OnesCount(set) > of }
	for a := range uint(1) << n {
		for b := range uint(1) << m {
			if majority(n, a) && majority(m, b) && a&(b<<(n-common)) == 0 {
				return false
			}
		}
	}
	return true
}

func TestMeetAgainstEveryMajority(t *testing.T) {
	for n := 1; n <= 9; n++ {
		for m := 1; m <= 9; m++ {
			for common := range min(n, m) + 1 {
				if got, want := Meet(n, m, common), dumbMeet(n, m, common); got != want {
					t.Errorf("Meet(%d, %d, %d) = %v, want %v", n, m, common, got, want)
				}
			}
		}
	}
}

// TestOneMasterAtATime: while a rollout adds or removes one master, clients of before and of after
// exclude each other.
func TestOneMasterAtATime(t *testing.T) {
	for n := 1; n <= 16; n++ {
		if !Meet(n, n+1, n) || !Meet(n+1, n, n) {
			t.Errorf("%d masters and one more: two majorities need not meet", n)
		}
	}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name           string
		n, yes, failed int
		holders        []string
		want           Contest
	}{
		{"one owner has a majority", 5, 0, 0, []string{"a", "a", "a"}, Taken},
		{"one owner has all the answers but no majority yet", 5, 1, 0, []string{"a", "a"}, Undecided},
		{"two and two and one of ours", 5, 1, 0, []string{"a", "a", "b", "b"}, Split},
		{"an even split, one missing", 4, 1, 0, []string{"a", "a"}, Undecided},
		{"a dead master may be the owner's third", 5, 2, 1, []string{"a", "a"}, Taken},
		{"a majority is dead", 5, 2, 3, nil, Unreachable},
		{"two dead, three ways among the rest", 5, 1, 2, []string{"a", "b"}, Taken},
		{"first three noes name two owners", 5, 0, 0, []string{"a", "b", "b"}, Undecided},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Judge(tt.n, tt.yes, tt.failed, tt.holders); got != tt.want {
				t.Errorf("Judge(%d, %d, %d, %q) = %v, want %v", tt.n, tt.yes, tt.failed, tt.holders, got, tt.want)
			}
		})
	}
}

// dumbJudge tries every outcome of the missing answers and, for the failed masters, every owner that
// they may have. The verdict is certain if all outcomes agree.
func dumbJudge(n, yes, failed int, holders []string) Contest {
	pending := n - yes - failed - len(holders)
	if pending == 0 {
		return final(n, yes, failed, holders)
	}
	verdicts := map[Contest]bool{}
	verdicts[dumbJudge(n, yes+1, failed, holders)] = true
	verdicts[dumbJudge(n, yes, failed+1, holders)] = true
	for _, h := range append([]string{"new"}, holders...) {
		verdicts[dumbJudge(n, yes, failed, append(slices.Clone(holders), h))] = true
	}
	if len(verdicts) == 1 {
		for v := range verdicts {
			return v
		}
	}
	return Undecided
}

func final(n, yes, failed int, holders []string) Contest {
	count := map[string]int{}
	for _, h := range holders {
		count[h]++
	}
	best := 0
	for _, c := range count {
		best = max(best, c)
	}
	if 2*best > n {
		return Taken
	}
	if 2*(yes+len(holders)) <= n {
		return Unreachable
	}
	if 2*(best+failed) > n {
		return Taken
	}
	return Split
}

// Judge may wait for an answer although every outcome leads to the same verdict. But a verdict that
// it gives must be the one that every outcome leads to.
func TestJudgeAgainstEveryOutcome(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		yes := rapid.IntRange(0, Majority(n)-1).Draw(t, "yes")
		failed := rapid.IntRange(0, n-yes).Draw(t, "failed")
		holders := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, n-yes-failed).Draw(t, "holders")
		if Vote(n, yes, failed+len(holders)) != Lost {
			t.Skip("not lost")
		}
		got, want := Judge(n, yes, failed, holders), dumbJudge(n, yes, failed, holders)
		if got != want && got != Undecided {
			t.Errorf("Judge(%d, %d, %d, %q) = %v, want %v", n, yes, failed, holders, got, want)
		}
		if got == Undecided && yes+failed+len(holders) == n {
			t.Errorf("Judge(%d, %d, %d, %q) is undecided with every answer in", n, yes, failed, holders)
		}
	})
}

// TestHolder: the second version counts in a map.
func TestHolder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		holders := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 7).Draw(t, "holders")
		n := len(holders) + rapid.IntRange(0, 3).Draw(t, "silent")
		count := map[string]int{}
		want := ""
		for _, h := range holders {
			if count[h]++; 2*count[h] > n {
				want = h
			}
		}
		if got, ok := Holder(n, holders); got != want || ok != (want != "") {
			t.Errorf("Holder(%d, %q) = %q, %v, want %q", n, holders, got, ok, want)
		}
	})
}

// The second versions of what follows sort the answers, and look at the place where a majority ends.

func TestAgreed(t *testing.T) {
	if _, ok := Agreed(3, make([]int64, 3), 0); ok {
		t.Error("masters whose answers do not count agree")
	}
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Int64Range(0, 4), 1, 9).Draw(t, "tokens")
		least := rapid.Int64Range(0, 4).Draw(t, "least")
		n := len(tokens)
		sorted := slices.Sorted(slices.Values(tokens))
		top := max(least, sorted[n-1])
		want := top > 0 && sorted[n-Majority(n)] == top
		if largest, ok := Agreed(n, tokens, least); largest != top || ok != want {
			t.Errorf("Agreed(%d, %v, %d) = %d, %v, want %d, %v", n, tokens, least, largest, ok, top, want)
		}
	})
}

func TestFreeAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := durations(t, 0, 7, 0)
		n := max(1, len(left)+rapid.IntRange(0, 3).Draw(t, "silent"))
		want, tells := time.Duration(0), len(left) >= Majority(n)
		if tells {
			want = slices.Sorted(slices.Values(left))[Majority(n)-1]
		}
		if at, ok := FreeAfter(n, left); at != want || ok != tells {
			t.Errorf("FreeAfter(%d, %v) = %v, %v, want %v, %v", n, left, at, ok, want, tells)
		}
	})
}

func TestAhead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 7).Draw(t, "told")
		n := max(1, len(told)+rapid.IntRange(0, 3).Draw(t, "silent"))
		want := 0
		switch sorted := slices.Sorted(slices.Values(told)); {
		case len(told) >= Majority(n):
			want = sorted[Majority(n)-1]
		case len(told) > 0:
			want = sorted[0]
		}
		if got := Ahead(n, told); got != want {
			t.Errorf("Ahead(%d, %v) = %d, want %d", n, told, got, want)
		}
	})
}

// durations draws some, of which several may be the same.
func durations(t *rapid.T, least, most, from int) []time.Duration {
	some := rapid.Map(rapid.IntRange(from, 12), func(d int) time.Duration { return time.Duration(d) })
	return rapid.SliceOfN(some, least, most).Draw(t, "left")
}

// A majority lasts exactly as long as the vote that Term names: the second version lets time pass and looks,
// at every moment, whether a majority of the votes is still valid.
func TestTerm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := durations(t, 1, 7, -3)
		voting := func(at time.Duration) (votes int) {
			for _, d := range left {
				if d > at {
					votes++
				}
			}
			return votes
		}
		var ends time.Duration
		for 2*voting(ends) > len(left) {
			ends++
		}
		if last := Term(left); (last >= 0) != (ends > 0) || last >= 0 && left[last] != ends {
			t.Errorf("Term(%v) = %d, want one that ends at %v", left, last, ends)
		}
	})
}

func ExampleTerm() {
	// Three of five masters have a vote that is still valid, for the times given.
	fmt.Println(Term([]time.Duration{0, 3 * time.Second, time.Second, 0, 2 * time.Second}))
	// Output: 2
}
