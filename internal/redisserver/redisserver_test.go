package redisserver_test

import (
	"errors"
	"net"
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
	check.That(t, err == nil && strings.Contains(string(out), "erver v="), "%s --version: %v\n%s", path, err, out)
}

// TestPortTaken: somebody else has the port that was chosen by the time the server wants it.
func TestPortTaken(t *testing.T) {
	var chosen []string
	port, _ := redisserver.Start(t, func(port, _ string) []string {
		if chosen = append(chosen, port); len(chosen) == 1 {
			listener, err := net.Listen("tcp", "127.0.0.1:"+port)
			check.OK(t, err)
			t.Cleanup(func() { listener.Close() })
		}
		return nil
	})
	check.That(t, len(chosen) == 2 && port == chosen[1], "the server has port %s of %v, want the second of two", port, chosen)
}

// TestMissing: a machine without the program, whose PATH has no apt-get either.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	const want = "redis-server is missing, and only root can install it, with apt-get"
	if path, err := redisserver.Find(); !errors.Is(err, redisserver.ErrMissing) || err.Error() != want {
		t.Errorf("Find = %q, %v; want %s", path, err, want)
	}
}
