package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

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

// Each variable is called like its flag, and the help shows the key of each.
func TestConfigKeys(t *testing.T) {
	for _, command := range model(t).Children {
		for _, flag := range command.Flags {
			for _, variable := range flag.Envs {
				check.Equal(t, variable, "REDLOCK_"+strings.ToUpper(keyOf(flag)), "the variable of --%s", flag.Name)
			}
			if hasKey(flag) && !strings.Contains(manual("config"), "\n  "+keyOf(flag)+" ") {
				t.Errorf("redlock help config does not show %s", keyOf(flag))
			}
		}
	}
}

// model is what kong knows of the command line.
func model(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := newParser(new(cli), io.Discard, io.Discard, func(int) {})
	check.OK(t, err)
	return parser.Model
}

// The examples of redlock help config and of the docs are configuration files.
func TestConfigExample(t *testing.T) {
	for _, in := range []struct{ text, begin, end string }{{manual("config"), "\n\n", "\n\n"}, {check.File(t, "../../docs/command.md"), "```toml\n", "```"}} {
		_, example, _ := strings.Cut(in.text, in.begin)
		example, _, _ = strings.Cut(example, in.end)
		if values, err := readConfig(model(t), write(t, "redlock.toml", example, 0o600)); err != nil || len(values) == 0 {
			t.Errorf("%v: %v in\n%s", err, values, example)
		}
	}
}
