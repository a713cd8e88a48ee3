package main

import (
	"strings"
	"testing"

	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
)

// TestComparison: what a library does not have cannot fail, and each violation is counted once.
func TestComparison(t *testing.T) {
	report := func(run history.Run, exclusion int) *judge.Report {
		return &judge.Report{
			Run: run,
			Checks: []judge.Check{
				{Name: judge.Exclusion, Looked: 40, Violations: append(
					make([]history.Violation, exclusion),
					history.Violation{Unpromised: "a master forgot"},
				)},
				{Name: judge.Tokens, Looked: 30},
			},
			Summary: judge.Summary{
				Holds:     map[history.Do]int{history.Lock: 30, history.TryLock: 10},
				Calls:     map[history.Do]int{history.Lock: 50},
				Unnoticed: 3, Plain: judge.Unprotected{Writes: 60, Lost: 2},
			},
		}
	}
	peer := column{report(history.Run{}, 1), report(history.Run{}, 2)}
	var out strings.Builder
	comparison(&out, []column{{report(history.Run{Tokens: true, Signal: true}, 0)}, peer, peer, peer})
	for _, want := range []string{
		"| | redlock | redsync | redsync-ff | single |\n|---|---|---|---|---|\n| trials | 1 | 2 | 2 | 2 |\n| holds | 40 | 80 | 80 | 80 |\n",
		"| two valid holds of one name, of all holds | 0 of 40 | **3** of 80 | **3** of 80 | **3** of 80 |\n",
		"| tokens out of order, of all holds | 0 of 30 | has none | has none | has none |\n",
		"with no signal | cannot be | **6** of 80 | **6** of 80 | **6** of 80 |\n",
		"of all writes | **2** of 60 | **4** of 120 | **4** of 120 | **4** of 120 |\n",
		"with something left at the end | no case | no case | no case | no case |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}
