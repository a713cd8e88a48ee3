package quorum

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestMajority(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 6: 4, 7: 4} {
		if got := Majority(n); got != want {
			t.Errorf("Majority(%d) = %d, want %d", n, got, want)
		}
	}
}

// Any two majorities share a master. The test tries every pair of sets of masters.
func TestMajoritiesMeet(t *testing.T) {
	for n := 1; n <= 7; n++ {
		for a := range 1 << n {
			for b := range 1 << n {
				if ones(a) >= Majority(n) && ones(b) >= Majority(n) && a&b == 0 {
					t.Fatalf("n = %d: majorities %b and %b do not meet", n, a, b)
				}
			}
		}
	}
}

func ones(x int) int {
	c := 0
	for ; x > 0; x &= x - 1 {
		c++
	}
	return c
}

func TestVote(t *testing.T) {
	for _, tt := range []struct {
		n, yes, no int
		want       Result
	}{
		{1, 0, 0, Pending},
		{1, 1, 0, Won},
		{1, 0, 1, Lost},
		{2, 1, 0, Pending},
		{2, 1, 1, Lost},
		{2, 2, 0, Won},
		{3, 1, 1, Pending},
		{3, 2, 0, Won},
		{3, 2, 1, Won},
		{3, 0, 2, Lost},
		{4, 2, 1, Pending},
		{4, 2, 2, Lost},
		{5, 2, 2, Pending},
		{5, 3, 2, Won},
		{5, 2, 3, Lost},
		{5, 0, 3, Lost},
	} {
		t.Run(fmt.Sprintf("n=%d yes=%d no=%d", tt.n, tt.yes, tt.no), func(t *testing.T) {
			if got := Vote(tt.n, tt.yes, tt.no); got != tt.want {
				t.Errorf("Vote = %v, want %v", got, tt.want)
			}
		})
	}
}

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
		{"three ways", 3, 1, 0, []string{"a", "b"}, Split},
		{"an even split", 4, 2, 0, []string{"a", "a"}, Split},
		{"an even split, one missing", 4, 1, 0, []string{"a", "a"}, Undecided},
		{"a dead master may be the owner's third", 5, 2, 1, []string{"a", "a"}, Taken},
		{"a majority is dead", 5, 2, 3, nil, Unreachable},
		{"a majority is dead, the rest is taken", 5, 0, 3, []string{"a", "a"}, Unreachable},
		{"two dead, three ways among the rest", 5, 1, 2, []string{"a", "b"}, Taken},
		{"first three noes name two owners", 5, 0, 0, []string{"a", "b", "b"}, Undecided},
		{"one master, taken", 1, 0, 0, []string{"a"}, Taken},
		{"one master, dead", 1, 0, 1, nil, Unreachable},
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

func TestHolder(t *testing.T) {
	for _, tt := range []struct {
		n       int
		holders []string
		want    string
		ok      bool
	}{
		{3, nil, "", false},
		{3, []string{"a"}, "", false},
		{3, []string{"a", "b"}, "", false},
		{3, []string{"b", "a", "b"}, "b", true},
		{5, []string{"b", "a", "b", "a", "a"}, "a", true},
		{5, []string{"b", "a", "b", "a"}, "", false},
		{1, []string{"a"}, "a", true},
	} {
		got, ok := Holder(tt.n, tt.holders)
		if got != tt.want || ok != tt.ok {
			t.Errorf("Holder(%d, %q) = %q, %v, want %q, %v", tt.n, tt.holders, got, ok, tt.want, tt.ok)
		}
	}
}

func TestHolderAgainstACount(t *testing.T) {
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

func TestFreeAfter(t *testing.T) {
	for _, tt := range []struct {
		n    int
		left []time.Duration
		want time.Duration
		ok   bool
	}{
		{3, []time.Duration{5}, 0, false},
		{3, []time.Duration{5, 7}, 7, true},
		{3, []time.Duration{9, 5, 7}, 7, true},
		{5, []time.Duration{0, 0, 9}, 9, true},
		{5, []time.Duration{0, 9, 0, 0}, 0, true},
		{1, []time.Duration{4}, 4, true},
		{1, nil, 0, false},
	} {
		got, ok := FreeAfter(tt.n, tt.left)
		if got != tt.want || ok != tt.ok {
			t.Errorf("FreeAfter(%d, %v) = %v, %v, want %v, %v", tt.n, tt.left, got, ok, tt.want, tt.ok)
		}
	}
}

func TestAhead(t *testing.T) {
	for _, tt := range []struct {
		n    int
		told []int
		want int
	}{
		{3, nil, 0},
		{3, []int{7}, 7},
		{3, []int{7, 5}, 7},
		{3, []int{9, 5, 7}, 7},
		{5, []int{8, 6}, 6},
		{5, []int{0, 600, 599, 601, 600}, 600},
		{5, []int{0, 0, 599, 601, 600}, 599},
		{4, []int{1, 2, 3, 4}, 3},
		{1, []int{4}, 4},
	} {
		if got := Ahead(tt.n, tt.told); got != tt.want {
			t.Errorf("Ahead(%d, %v) = %d, want %d", tt.n, tt.told, got, tt.want)
		}
	}
}

// A majority says that so many stand before the waiter at most, and none says that of fewer.
func TestAheadIsWhatAMajoritySays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		told := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 7).Draw(t, "told")
		n := len(told)
		say := func(most int) (c int) {
			for _, k := range told {
				if k <= most {
					c++
				}
			}
			return c
		}
		if got := Ahead(n, told); say(got) < Majority(n) || say(got-1) >= Majority(n) {
			t.Errorf("Ahead(%d, %v) = %d", n, told, got)
		}
	})
}

// A majority is free at the time that FreeAfter returns, and not a moment before.
func TestFreeAfterIsTheFirstMoment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 20), func(ms int) time.Duration { return time.Duration(ms) }), 1, 7).Draw(t, "left")
		n := len(left)
		at, ok := FreeAfter(n, left)
		if !ok {
			t.Fatalf("FreeAfter(%d, %v) cannot tell", n, left)
		}
		free := func(at time.Duration) (c int) {
			for _, l := range left {
				if l <= at {
					c++
				}
			}
			return c
		}
		if free(at) < Majority(n) || free(at-1) >= Majority(n) {
			t.Errorf("FreeAfter(%d, %v) = %v", n, left, at)
		}
	})
}
