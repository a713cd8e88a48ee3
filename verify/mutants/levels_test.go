package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLevels: each level is asked about the patches of its code, once, and again when a patch has changed.
func TestLevels(t *testing.T) {
	l := toy(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(l.root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(l.root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(seenFile, "")
	write("b/b_test.go", "package b\n")
	ask := func(change string) (seen string, err error) {
		t.Helper()
		p, err := parse("sums", head+"by: a\n\n@@ a/a.go\n-\treturn a + b\n+\treturn "+change+"\n")
		if err != nil {
			t.Fatal(err)
		}
		err = l.askLevels(t.Context(), []*patch{p}, []catcher{{pkg: "a"}, {pkg: "b"}, {"a", "TestSimSum"}}, 1)
		text, readErr := os.ReadFile(filepath.Join(l.root, seenFile))
		if readErr != nil {
			t.Fatal(readErr)
		}
		return string(text), err
	}
	seen, err := ask("max(a+b, 3) % 4")
	if err != nil || !strings.HasPrefix(seen, "sums ") || !strings.HasSuffix(seen, " -a +a:TestSimSum\n") {
		t.Errorf("got %q, %v, want a line of sums that a does not catch, and TestSimSum does", seen, err)
	}
	write("a/word.txt", "words\n") // from now on a fails, if it is asked
	if again, err := ask("max(a+b, 3) % 4"); again != seen || err != nil {
		t.Errorf("the same patch: got %q, %v, want %q", again, err, seen)
	}
	if again, err := ask("b - a"); again != seen || err == nil || !strings.Contains(err.Error(), "TestWord") {
		t.Errorf("a changed patch: got %q, %v, want an error that names TestWord", again, err)
	}
}

func TestLevelsTable(t *testing.T) {
	got := levelsTable(map[string]seenBy{
		"one":   {by: []string{"+node", "+redlock:TestSim"}},
		"two":   {by: []string{"+node", "?redlock:TestSim"}},
		"three": {by: []string{"-node"}},
	})
	for _, want := range []string{"| `node` | 3 | 2 | 1 |\n", "| `redlock TestSim` | 2 | 1 | 0 |\n", "3 patches were tried, and 1 are caught by none"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s, want %q", got, want)
		}
	}
}

// TestLevelsAreSummedUp: the page says what the file does, of patches and levels that are there.
func TestLevelsAreSummedUp(t *testing.T) {
	seen, err := readSeen(root)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(safety(t), beginsLevels+levelsTable(seen)+endsLevels) {
		t.Errorf("%s does not sum up %s: go run ./verify/mutants -levels -write", page, seenFile)
	}
	for _, p := range all(t) {
		for _, by := range seen[p.name].by {
			if !slices.ContainsFunc(levels, func(c catcher) bool { return word("", c) == by[1:] }) {
				t.Errorf("%s: %s: there is no level %q", seenFile, p.name, by)
			}
		}
		delete(seen, p.name)
	}
	for name := range seen {
		t.Errorf("%s: there is no patch %s", seenFile, name)
	}
}
