package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// measured returns a report with p50 as the median time to acquire in each of the trials.
func measured(t *testing.T, rounds int, p50 float64, trials ...trial) *report {
	t.Helper()
	r := &report{Machine: machine{Rounds: rounds}, out: io.Discard, log: new(bytes.Buffer)}
	for _, trial := range trials {
		contenders := trial.suited([]contender{{name: "redlock"}, {name: "bsm/1"}, {name: "redsync"}})
		value := func(v float64) result {
			return result{rounds: [][]figure{{{"acquire p50", "µs", v}, {"acquire p50 / healthy", "", v / 200}}}}
		}
		results := []result{value(p50), value(100 * p50), value(p50)}[:len(contenders)]
		if err := r.trial(trial, contenders, results); err != nil {
			t.Fatalf("trial = %v", err)
		}
	}
	return r
}

// write has r write its page to dir, with all as the full list of trials, and returns the page.
func write(t *testing.T, r *report, dir string, all ...trial) string {
	t.Helper()
	if err := r.writePage(dir, all); err != nil {
		t.Fatalf("writePage = %v", err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// A section has a heading and a table of the contenders that take part.
func TestPage(t *testing.T) {
	dir, far := t.TempDir(), farTrials()[0]
	page := write(t, measured(t, 3, 210, far), dir, far)
	for _, want := range []string{
		"## Far\n", "| | redlock | redsync |\n",
		"| acquire p50, µs | 210 | 21000 |\n", "| acquire p50 / healthy | 1.05 | 105 |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
}

// A run replaces the sections of its own scenarios, and no others.
func TestPageInParts(t *testing.T) {
	alone, one, two := uncontendedTrials()[0], frozenTrials()[0], frozenTrials()[1]
	all := []trial{alone, one, two}
	for _, c := range []struct {
		name   string
		rounds int
		run    []trial
		old    int // how many of the tables are as they were
	}{
		{"all", 3, all, 0},
		{"the first scenario", 3, []trial{alone}, 2},
		{"the last scenario", 3, []trial{one, two}, 1},
		{"a part of a scenario", 3, []trial{two}, 3},
		{"all, in other rounds", 5, all, 0},
		{"a scenario, in other rounds", 5, []trial{alone}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			before := write(t, measured(t, 3, 111, all...), dir, all...)
			r := measured(t, c.rounds, 222, c.run...)
			page := write(t, r, dir, all...)
			if got := strings.Count(page, "p50, µs | 111 |"); got != c.old {
				t.Errorf("%d tables are old, want %d:\n%s", got, c.old, page)
			}
			if got := strings.Count(page, "p50, µs | 222 |"); got != 3-c.old {
				t.Errorf("%d tables are new, want %d:\n%s", got, 3-c.old, page)
			}
			if got, want := strings.Count(page, "\n"), strings.Count(before, "\n"); got != want {
				t.Errorf("the page has %d lines, want %d:\n%s", got, want, page)
			}
			if said := r.log.(*bytes.Buffer).String(); (said != "") != (c.rounds != 3 && c.old == 3) {
				t.Errorf("said %q", said)
			}
		})
	}
}
