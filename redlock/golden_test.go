package redlock_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// Write the files anew: go test ./redlock -run 'TestTexts|TestTraces' -update
var update = flag.Bool("update", false, "write the files in testdata, and the pages, anew")

// golden is a file with what something says, in sections. What changes there is to be read aloud.
type golden struct {
	file   string
	wanted map[string]string // sections that were not compared yet, by name
	all    []string
}

func newGolden(t *testing.T, file string) *golden {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	g := &golden{file: file, wanted: make(map[string]string)}
	for section := range strings.SplitSeq("\n"+string(text), "\n# ") {
		name, body, _ := strings.Cut(section, "\n")
		g.wanted[name] = body
	}
	delete(g.wanted, "") // before the first
	return g
}

// section compares what is said, in a subtest of that name, with the section of the file.
func (g *golden) section(t *testing.T, name string, says func(*testing.T) string) {
	want := g.wanted[name]
	delete(g.wanted, name)
	t.Run(name, func(t *testing.T) {
		got := says(t)
		g.all = append(g.all, "# "+name+"\n"+got)
		if got != want && !*update {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// close wants all sections to have been compared, or writes them.
func (g *golden) close(t *testing.T) {
	t.Helper()
	switch {
	case *update:
		check.OK(t, os.WriteFile(g.file, []byte(strings.Join(g.all, "\n")), 0o600))
	case len(g.wanted) > 0:
		t.Errorf("%s has sections that nothing says: %q", g.file, g.wanted)
	}
}
