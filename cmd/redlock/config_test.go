package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// write writes a file of the test's own and returns its path.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check.OK(t, os.WriteFile(path, []byte(text), mode))
	check.OK(t, os.Chmod(path, mode)) // whatever the umask is
	return path
}

// What has a variable has a key, and the reverse.
func TestConfigKeys(t *testing.T) {
	var line cli
	parser, err := newParser(&line, io.Discard, io.Discard, func(int) {})
	check.OK(t, err)
	variables := map[string]bool{}
	for _, command := range parser.Model.Children {
		for _, flag := range command.Flags {
			for _, variable := range flag.Envs {
				variables[strings.ToLower(strings.TrimPrefix(variable, "REDLOCK_"))] = true
				check.Equal(t, variable, "REDLOCK_"+strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_")), "the variable of --%s", flag.Name)
			}
		}
	}
	delete(variables, "config")
	keys := map[string]bool{}
	for field := range reflect.TypeFor[settings]().Fields() {
		keys[field.Tag.Get("toml")] = true
		if !strings.Contains(manual("config"), "\n  "+field.Tag.Get("toml")+" ") {
			t.Errorf("redlock help config does not show %s", field.Tag.Get("toml"))
		}
	}
	if !maps.Equal(keys, variables) {
		t.Errorf("keys are %v, want %v, as there are variables", slices.Sorted(maps.Keys(keys)), slices.Sorted(maps.Keys(variables)))
	}
}

// A name in a file that is empty is refused, and not left out.
func TestNamesOfAFile(t *testing.T) {
	t.Setenv("REDLOCK_NAME", "")
	os.Unsetenv("REDLOCK_NAME") // t.Setenv restores it
	for text, want := range map[string][]string{`"a"`: {"a"}, `["a", "b\nc"]`: {"a", "b\nc"}, `""`: {""}, `[]`: {""}, `["a", ""]`: {""}, `["", "a"]`: {""}} {
		line, _, _, err := parse([]string{"hold", "--config", write(t, "redlock.toml", "name = "+text, 0o600)}, io.Discard, io.Discard)
		if err != nil || !slices.Equal(line.Hold.Name, want) {
			t.Errorf("name = %s: %q, %v; want %q", text, line.Hold.Name, err, want)
		}
	}
}

// A zero byte, which only a file can have, is refused before anything is locked, since no environment can have it.
func TestZeroByteOfAFile(t *testing.T) {
	for _, text := range []string{`name = "a\u0000b"`, `name = ["a", "\u0000"]`, "name = \"a\"\nprefix = \"\\u0000\""} {
		line, parsed, _, err := parse([]string{"run", "--config", write(t, "redlock.toml", text, 0o600), "--", "true"}, io.Discard, io.Discard)
		if err == nil {
			err = line.Run.check(originsOf(parsed, &line.file))
		}
		if codeOf(err) != exitUsage || !strings.Contains(err.Error(), "zero byte") {
			t.Errorf("%s: %v, want that it is refused", text, err)
		}
	}
}

// The examples of redlock help config and of the docs are configuration files.
func TestConfigExample(t *testing.T) {
	for _, in := range []struct{ text, begin, end string }{{manual("config"), "\n\n", "\n\n"}, {check.File(t, "../../docs/command.md"), "```toml\n", "```"}} {
		_, example, _ := strings.Cut(in.text, in.begin)
		example, _, _ = strings.Cut(example, in.end)
		if values, err := readConfig(write(t, "redlock.toml", example, 0o600)); err != nil || len(values) == 0 {
			t.Errorf("%v: %v in\n%s", err, values, example)
		}
	}
}
