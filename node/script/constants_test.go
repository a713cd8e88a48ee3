package script

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// TestConstantsOfScripts: each constant is in a script, by its name, and each name in a script is one: of a
// constant, or what Redis has.
func TestConstantsOfScripts(t *testing.T) {
	var all strings.Builder
	for _, name := range scripts(t) {
		raw, err := files.ReadFile(name)
		check.OK(t, err)
		all.Write(raw)
		for _, word := range regexp.MustCompile(`\b[A-Z]+_?[A-Z]+\b`).FindAllString(text(name), -1) {
			if !slices.Contains([]string{"KEYS", "ARGV", "EVAL", "PX", "ERR", "NOTLOCK", "WRONGTYPE"}, word) {
				t.Errorf("%s has %s, which no master knows", name, word)
			}
		}
	}
	for c := range slices.Chunk(constants, 2) {
		if !strings.Contains(all.String(), c[0]) {
			t.Errorf("no script has %s", c[0])
		}
		for o := range slices.Chunk(constants, 2) {
			if o[0] != c[0] && strings.Contains(o[0], c[0]) {
				t.Errorf("%s is a part of %s", c[0], o[0])
			}
		}
	}
}
