package redisserver_test

import (
	"strings"
	"testing"

	"example.com/redlock/internal/redisserver"
)

// TestFind also installs the program for the tests of other packages: make unit runs it first.
func TestFind(t *testing.T) {
	path, err := redisserver.Find()
	if err != nil {
		t.Fatal(err)
	}
	out, err := redisserver.Command(path, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "erver v=") {
		t.Errorf("%s --version: %v\n%s", path, err, out)
	}
}

// TestMissing: a machine without the program, whose PATH has no apt-get either.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if path, err := redisserver.Find(); err != redisserver.ErrMissing {
		t.Errorf("Find = %q, %v; want %v", path, err, redisserver.ErrMissing)
	}
}
