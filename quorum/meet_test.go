package quorum

import (
	"fmt"
	"testing"
)

// dumbMeet tries each majority of the one set with each of the other. The first set is masters 0 to
// n-1, and the second begins common masters before the end of the first.
func dumbMeet(n, m, common int) bool {
	for a := range 1 << n {
		for b := range 1 << m {
			if 2*ones(a) > n && 2*ones(b) > m && a&(b<<(n-common)) == 0 {
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

// TestTwoStepsAtATime: what a rollout must not do, and why it waits for the step before.
func TestTwoStepsAtATime(t *testing.T) {
	for n := 1; n <= 16; n++ {
		for _, tt := range []struct {
			what  string
			m, in int
			meet  bool
		}{
			{"one replaced in one step", n, n - 1, n%2 == 0},
			{"two added", n + 2, n, n%2 == 0},
			{"three added", n + 3, n, false},
			{"one removed, and two others added", n + 1, n - 1, false},
			{"two replaced", n, n - 2, false},
		} {
			t.Run(fmt.Sprintf("n=%d %s", n, tt.what), func(t *testing.T) {
				if tt.in < 0 {
					t.Skip("there are no two to replace")
				}
				if got := Meet(n, tt.m, tt.in); got != tt.meet {
					t.Errorf("Meet(%d, %d, %d) = %v, want %v", n, tt.m, tt.in, got, tt.meet)
				}
			})
		}
	}
}
