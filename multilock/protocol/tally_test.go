package protocol

import (
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// each calls f with every way in which n masters may answer one of k things.
func each(n, k int, f func(answers []int)) {
	answers := make([]int, n)
	for {
		f(answers)
		i := 0
		for ; i < n; i++ {
			if answers[i]++; answers[i] < k {
				break
			}
			answers[i] = 0
		}
		if i == n {
			return
		}
	}
}

// A renewal is told once: when a majority has the hold, when so many lack it that somebody else may
// have one, or when all have answered and neither is so.
func TestRenewal(t *testing.T) {
	sent := clock.Instant{}.Add(-time.Hour)
	for n := 1; n <= 7; n++ {
		conf := Config{Masters: n}
		q := quorum.Majority(n)
		each(n, 3, func(answers []int) {
			r := Renewal{Sent: sent, Lease: lease}
			var yes, absent int
			told := false
			for i, a := range answers {
				found := []Found{FoundNothing, FoundHold, FoundAbsent}[a]
				yes += map[Found]int{FoundHold: 1}[found]
				absent += map[Found]int{FoundAbsent: 1}[found]
				var want HoldEvent
				tell := !told
				switch {
				case yes == q:
					want = HoldEvent{Kind: HoldRenewed, Until: sent.Add(full)}
				case n-absent < q:
					want = HoldEvent{Kind: HoldLost, Writer: true}
				case i == n-1:
					want = HoldEvent{Kind: HoldFailed}
				default:
					tell = false
				}
				ev, ok := r.Step(&conf, i, found)
				if ok != tell || ok && ev != want {
					t.Fatalf("%v, after m%d: told %v of %+v, want %v of %+v", answers, i+1, ok, ev, tell, want)
				}
				told = told || ok
				if _, ok := r.Step(&conf, i, found); ok { // a duplicate
					t.Fatalf("%v: told again after m%d", answers, i+1)
				}
			}
			if !told {
				t.Fatalf("%v: never told", answers)
			}
		})
	}
}

// A release has lost the lock where so many masters lacked it before that somebody else may have
// had a majority, and has freed it where a majority does not have it now. It is over when no answer
// can change either.
func TestReturn(t *testing.T) {
	for n := 1; n <= 6; n++ {
		conf := Config{Masters: n}
		q := quorum.Majority(n)
		each(n, 4, func(answers []int) { // 0: not yet
			var r Return
			count := [4]int{}
			for i, a := range answers {
				if count[a]++; a > 0 {
					r.Step(i, []Outcome{Yes, No, []Outcome{Unsent, Unknown, Errored}[i%3]}[a-1])
				}
			}
			open, freed, lacked := count[0], count[1], count[2]
			lost, free := lacked >= q, freed+lacked >= q
			if got := r.Lost(&conf) == quorum.Won; got != lost {
				t.Fatalf("%v: lost %v, want %v", answers, got, lost)
			}
			if got := r.Free(&conf); got != free {
				t.Fatalf("%v: free %v, want %v", answers, got, free)
			}
			mayChange := !lost && lacked+open >= q || !free && freed+lacked+open >= q
			over := r.Over(&conf)
			if over && mayChange {
				t.Fatalf("%v: over, and the answers that are open may change it", answers)
			}
			if clear := lost || free && n-freed < q || open == 0; over != clear {
				t.Fatalf("%v: over %v, want %v", answers, over, clear)
			}
		})
	}
}
