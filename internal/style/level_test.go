package style_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// beyondTest reports whether make test leaves all tests of a file to make verify: those of the packages below
// integration and verify, and of modules of their own but the command's. Of the others it leaves those that end in Long.
func beyondTest(t *testing.T, file string) bool {
	t.Helper()
	folder, _, _ := strings.Cut(file, "/")
	module := moduleOf(t, file)
	return folder == "integration" || folder == "verify" || module != "." && module != "cmd/redlock"
}

// moduleOf returns the folder of the module that a file belongs to.
func moduleOf(t *testing.T, file string) string {
	t.Helper()
	all := files(t)
	for folder := path.Dir(file); ; folder = path.Dir(folder) {
		if folder == "." || slices.Contains(all, folder+"/go.mod") {
			return folder
		}
	}
}

// TestLevels: where a test is, and what it is called, tells whether make test runs it or make verify: none does less
// with a flag, and none that make verify runs anyway ends in Long. make verify knows all modules.
func TestLevels(t *testing.T) {
	long := regexp.MustCompile(`(?m)^func Test\w*Long\(`)
	modules, _, _ := strings.Cut(read(t, "Makefile")[strings.Index(read(t, "Makefile"), "\nMODULES = ")+1:], "\n")
	for _, file := range files(t) {
		switch {
		case path.Base(file) == "go.mod" && path.Dir(file) != "." && path.Dir(file) != "verify/tools":
			if !slices.Contains(strings.Fields(modules), path.Dir(file)) {
				t.Errorf("MODULES of the Makefile lacks %s", path.Dir(file))
			}
		case strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "internal/style/"):
			if text := read(t, file); strings.Contains(text, "testing.Short()") {
				t.Errorf("%s does less with -short", file)
			} else if beyondTest(t, file) && long.MatchString(text) {
				t.Errorf("%s has %q, and make verify runs all tests there", file, long.FindString(text))
			}
		}
	}
}
