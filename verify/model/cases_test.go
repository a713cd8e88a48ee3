package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/multilock/attempt"
)

// TestNames: a case is known by its name, and those with teeth are among them.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range allCases() {
		if seen[k.Name] {
			t.Errorf("two cases are called %q", k.Name)
		}
		seen[k.Name] = true
		if k.Teeth && k.Nightly {
			t.Errorf("%q has teeth, and is searched at night only", k.Name)
		}
	}
	for _, name := range append(slices.Collect(maps.Keys(within)), teeth...) {
		if !seen[name] {
			t.Errorf("no case is called %q", name)
		}
	}
}

// TestSetsAreSorted: masters that are alike stand together, or states would have keys that lose
// something.
func TestSetsAreSorted(t *testing.T) {
	for _, k := range allCases() {
		seen := map[string]int{}
		for m := range k.Masters {
			in := ""
			for c := range k.Callers {
				if k.has(c, m) {
					in = fmt.Sprint(in, c)
				}
			}
			if last, ok := seen[in]; ok && last != m-1 {
				t.Errorf("%s: masters %d and %d are alike, and another is between them", k.Name, last, m)
			}
			seen[in] = m
		}
	}
}

// TestReport: a small case is all well, and a contender that does what the table of arrows does not
// allow is told, with the way there.
func TestReport(t *testing.T) {
	i := slices.IndexFunc(allCases(), func(k *Case) bool { return k.Name == "lose/two" })
	var out strings.Builder
	if r := (report{to: &out, traces: true}); !r.all(allCases()[i : i+1]) {
		t.Errorf("a small case fails:\n%s", &out)
	}
	old := attempt.Arrows
	defer func() { attempt.Arrows = old }()
	attempt.Arrows = old[:1]
	out.Reset()
	r := report{to: &out, traces: true}
	if r.all(allCases()[i:i+1]) || !strings.Contains(out.String(), noArrow) || !strings.Contains(out.String(), "C0 gets answer of m0 to #1: yes") {
		t.Errorf("want %q and the way there:\n%s", noArrow, &out)
	}
}
