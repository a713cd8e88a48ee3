package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A scenario has its heading, its chart and a table of those who take part.
func TestPage(t *testing.T) {
	r := &report{out: io.Discard, log: io.Discard, quiet: true}
	p50 := func(v float64) result {
		return result{rounds: [][]figure{{{"acquire p50", "µs", v}, {"acquire p50 / healthy", "", v / 200}}}}
	}
	contenders := farTrials()[0].suited([]contender{{name: "redlock"}, {name: "bsm/1"}, {name: "redsync"}})
	if err := r.trial(farTrials()[0], contenders, []result{p50(210), p50(21000)}); err != nil {
		t.Fatalf("trial = %v", err)
	}
	dir := t.TempDir()
	if err := r.writePage(dir); err != nil {
		t.Fatalf("writePage = %v", err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## Far\n", "(benchmarks-far.svg)", "| | redlock | redsync |\n",
		"| acquire p50, µs | 210 | 21000 |\n", "| acquire p50 / healthy | 1.05 | 105 |\n",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %q:\n%s", want, page)
		}
	}
	if chart, err := os.ReadFile(filepath.Join(dir, "benchmarks-far.svg")); err != nil || !strings.Contains(string(chart), "20 ms away") {
		t.Errorf("the chart has no title: %v", err)
	}
}
