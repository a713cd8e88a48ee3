package fleet

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ory/dockertest/v3/docker"
)

// count returns how many containers have a label.
func count(t *testing.T, label string) int {
	t.Helper()
	all, err := machine.docker.Client.ListContainers(docker.ListContainersOptions{
		All: true, Filters: map[string][]string{"label": {label}},
	})
	did(t, err)
	return len(all)
}

// TestCloseLeavesNothing: neither containers, whatever their state, nor files.
func TestCloseLeavesNothing(t *testing.T) {
	t.Parallel()
	f := start(t, Config{Masters: 3, Clocks: true})
	m := f.Masters()
	did(t, m[0].Kill())
	did(t, m[1].Pause())
	label := labelFleet + "=" + f.id
	if n := count(t, label); n != 3 {
		t.Errorf("%d containers, want 3", n)
	}
	did(t, f.Close())
	if n := count(t, label); n != 0 {
		t.Errorf("%d containers after Close", n)
	}
	if _, err := os.Stat(f.clocks.folder); !os.IsNotExist(err) {
		t.Errorf("Stat of the clocks' folder after Close: %v", err)
	}
}

// TestStartFails: a fleet with a master that does not start leaves nothing. Its error names the master, and has what a
// server said that has ended.
func TestStartFails(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		"starting 2 masters: m1: ": {Masters: 2, Mounts: []string{"no such volume"}},
		"'no-such-setting":         {Masters: 2, Settings: []string{"--no-such-setting", "yes"}},
	} {
		f, err := machine.Start(t.Context(), cfg)
		if err == nil {
			_ = f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "PING") {
			t.Errorf("Start = %v, want an error that has %q", err, want)
		}
	}
}

// TestLife: a container ends by itself.
func TestLife(t *testing.T) {
	t.Parallel()
	m := one(t, Config{Life: 2 * time.Second})
	eventually(t, "it has ended", func() bool {
		_, err := m.Do("PING")
		return err != nil
	})
}

// TestSweep: containers whose time is over go, and others stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	m := one(t, Config{})
	client := machine.docker.Client
	name := "sweep-" + m.fleet.id
	_, err := client.CreateContainer(docker.CreateContainerOptions{Config: &docker.Config{
		Image: machine.images[0].String(), Cmd: []string{"redis-server"},
		Labels: map[string]string{labelFleet: name, labelExpires: strconv.FormatInt(time.Now().Unix()-1, 10)},
	}})
	did(t, err)
	sweep(client)
	if n := count(t, labelFleet+"="+name); n != 0 {
		t.Error("a container whose time is over is still there")
	}
	do(t, m, "PING")
}
