package script

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// TestWirePage: docs/design/wire.md has each key and channel that scripts and clients use, the fields of what clients
// publish, and the scripts.
func TestWirePage(t *testing.T) {
	const file = "../../docs/design/wire.md"
	page := check.File(t, file)
	keys := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(redlock_[a-z]+:?)[^|]*\\| (?:string|hash|sorted set) \\|").FindAllStringSubmatch(page, -1) {
		keys[row[1]] = true
	}
	for _, prefix := range prefixes {
		check.That(t, keys[prefix], "the page has no key %s", prefix)
		delete(keys, prefix)
	}
	for prefix := range keys {
		t.Errorf("the page has the key %s, which nobody uses", prefix)
	}
	used := regexp.MustCompile(`'(red(?:lock|isson)_[a-z_]+:?)`)
	for _, name := range scripts(t) {
		for _, match := range used.FindAllStringSubmatch(text(name), -1) {
			check.That(t, strings.Contains(page, "`"+match[1]), "%s uses %s, which the page does not have", name, match[1])
		}
	}
	for _, channel := range []string{HandOffChannel("u"), FreedChannel("n"), FreedChannel(Slots("s"))} {
		check.Shows(t, file, "| `"+strings.TrimSuffix(channel, "u")+"`")
	}
	for _, of := range []reflect.Type{reflect.TypeFor[Record](), reflect.TypeFor[Terms](), reflect.TypeFor[Master]()} {
		for _, field := range reflect.VisibleFields(of) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" && !strings.Contains(page, "`"+name+"`") {
				t.Errorf("the page does not have %s of %s", name, of.Name())
			}
		}
	}
	_, list, _ := strings.Cut(page, "\n## Scripts\n")
	for _, name := range scripts(t) {
		isWhole := strings.Contains(text(name), "KEYS[1]") || strings.Contains(text(name), "ARGV[1]") // not a part of others
		check.Equal(t, strings.Contains(list, "`"+name+"`"), isWhole, "the page has %s", name)
	}
}

// scripts returns the names of the files.
func scripts(t *testing.T) (names []string) {
	t.Helper()
	entries, err := files.ReadDir(".")
	check.OK(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestConstantsOfScripts: each constant is in a script, by its name, and each name in a script is one: of a
// constant, or what Redis has.
func TestConstantsOfScripts(t *testing.T) {
	var all strings.Builder
	for _, name := range scripts(t) {
		raw, err := files.ReadFile(name)
		check.OK(t, err)
		all.Write(raw)
		for _, word := range regexp.MustCompile(`\b[A-Z]+_?[A-Z]+\b`).FindAllString(text(name), -1) {
			check.That(t, slices.Contains([]string{"KEYS", "ARGV", "EVAL", "PX", "ERR", "NOTLOCK", "WRONGTYPE"}, word), "%s has %s, which no master knows", name, word)
		}
	}
	for c := range slices.Chunk(constants, 2) {
		check.That(t, strings.Contains(all.String(), c[0]), "no script has %s", c[0])
		for o := range slices.Chunk(constants, 2) {
			if o[0] != c[0] && strings.Contains(o[0], c[0]) {
				t.Errorf("%s is a part of %s", c[0], o[0])
			}
		}
	}
}
