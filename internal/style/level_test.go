package style_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// beyondTest reports whether make test leaves the tests of a file to make verify: those of the packages below
// integration and verify, and of modules of their own. Of the others it leaves those that end in Long.
func beyondTest(t *testing.T, file string) bool {
	t.Helper()
	folder, _, _ := strings.Cut(file, "/")
	return folder == "integration" || folder == "verify" || moduleOf(t, file) != "."
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
