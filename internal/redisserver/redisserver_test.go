package redisserver_test

import (
	"errors"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
)

// TestFind also installs the program for the tests of other packages: make unit runs it first.
func TestFind(t *testing.T) {
	path, err := redisserver.Find()
	check.OK(t, err)
	out, err := redisserver.Command(path, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "erver v=") {
		t.Errorf("%s --version: %v\n%s", path, err, out)
	}
}

// TestMissing: a machine without the program, whose PATH has no apt-get either.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const want = "redis-server is missing, and only root can install it, with apt-get"
	if path, err := redisserver.Find(); !errors.Is(err, redisserver.ErrMissing) || err.Error() != want {
		t.Errorf("Find = %q, %v; want %s", path, err, want)
	}
}
