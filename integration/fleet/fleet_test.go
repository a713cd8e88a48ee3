package fleet

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3/docker"

	"example.com/redlock/internal/check"
)

// count returns how many containers have a label.
func count(t *testing.T, label string) int {
	t.Helper()
	all, err := machine.docker.Client.ListContainers(docker.ListContainersOptions{
		All: true, Filters: map[string][]string{"label": {label}},
	})
	check.OK(t, err)
	return len(all)
}

// TestCloseLeavesNothing: neither containers, whatever their state, nor files.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Masters: 3, Clocks: true})
	m := f.Masters()
	check.OK(t, m[0].Kill())
	check.OK(t, m[1].Pause())
	label := labelFleet + "=" + f.id
	if n := count(t, label); n != 3 {
		t.Errorf("%d containers, want 3", n)
	}
	check.OK(t, f.Close())
	if n := count(t, label); n != 0 {
		t.Errorf("%d containers after Close", n)
	}
	if _, err := os.Stat(f.clocks.folder); !os.IsNotExist(err) {
		t.Errorf("Stat of the clocks' folder after Close: %v", err)
	}
}

// machine is the Docker engine, which TestMain sets before the first test.
var machine *Engine

// TestMain prepares the machine, or says in one line what is missing.
func TestMain(m *testing.M) {
	var err error
	if machine, err = Prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// start starts a fleet that is removed when the test ends.
func start(t *testing.T, cfg Config) *Fleet {
	t.Helper()
	const limit = 5 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	if cfg.Life == 0 {
		cfg.Life = 2 * limit
	}
	f, err := machine.Start(ctx, cfg)
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, f.Close()) })
	return f
}

// one starts a single master.
func one(t *testing.T, cfg Config) *Master {
	t.Helper()
	cfg.Masters = 1
	return start(t, cfg).Masters()[0]
}

// do sends a command to a master that must answer.
func do(t *testing.T, m *Master, command string, args ...any) any {
	t.Helper()
	reply, err := m.Do(command, args...)
	check.OK(t, err, "%s: %s %v", m.Name(), command, args)
	return reply
}

// dial connects to a master for as long as the test lasts.
func dial(t *testing.T, m *Master) redis.Conn {
	t.Helper()
	conn, err := m.Dial()
	check.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// runID returns which run of a server this is.
func runID(t *testing.T, m *Master) string {
	t.Helper()
	info, err := m.Info()
	check.OK(t, err)
	return info["run_id"]
}
