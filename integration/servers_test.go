package integration

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// TestServers: what asks masters for everything passes on each server that Debian has, and on masters of three
// kinds together, also while they are harmed. docs/operations.md#servers says which versions these were.
func TestServers(t *testing.T) {
	t.Parallel()
	const tests = "TestSetUp|TestPermissions|TestDoctor|TestRedissonBesideUs|TestRestartKeepsAll"
	for _, servers := range []struct{ name, images, tests string }{
		{"redis8", "redlock-test/redis8:local", tests},
		{"valkey8", "redlock-test/valkey8:local", tests},
		{"valkey9", "redlock-test/valkey9:local", tests},
		{"mixed", ",redlock-test/redis8:local,redlock-test/valkey9:local", "TestMajorityAway"},
	} {
		t.Run(servers.name, func(t *testing.T) { // one after the other, since each runs tests beside each other
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.parallel=2", "-test.run=^("+servers.tests+")$")
			child.Env = append(os.Environ(), "REDLOCK_REDIS_IMAGE="+servers.images)
			out, err := child.CombinedOutput()
			said := slices.DeleteFunc(strings.SplitAfter(string(out), "\n"), func(line string) bool { return strings.Contains(line, " level=") })
			if passed := strings.Count(string(out), "\n--- PASS: "); err != nil || passed != strings.Count(servers.tests, "Test") {
				t.Errorf("%d tests passed, %v:\n%s", passed, err, strings.Join(said, ""))
			}
		})
	}
}

// TestTooOld: a server without the commands that locks need is refused, with the version that it has.
func TestTooOld(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	engine, err := containers.Prepare("redlock-test/redis6:local")
	check.OK(t, err)
	old, err := engine.Start(ctx, containers.Config{Masters: 1})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, old.Close()) })
	client, err := redlock.New(redlock.Config{Masters: []string{old.Masters()[0].Addr()}})
	check.OK(t, err)
	defer client.Close()
	const want = "runs Redis 6.0.16, but 6.2 or later is needed"
	if _, err = client.Lock(ctx, "orders:42"); !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), want) {
		t.Errorf("Lock = %v, want %q", err, want)
	}
}
