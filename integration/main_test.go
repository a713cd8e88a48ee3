package integration

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// Labels on all our containers: the fleet that it belongs to, and the Unix time after which anybody
// may remove it.
const (
	labelFleet   = "redlock-test.fleet"
	labelExpires = "redlock-test.expires"
)

// machine is what all tests share: the Docker engine and the masters' image, which TestMain sets
// before the first test, and the ports that masters have used.
var machine struct {
	docker *dockertest.Pool
	image  imageName
	folder string // for programs that tests build
	ports  sync.Map
}

// TestMain prepares the machine, or says in one line what is missing. In a process that a test
// started as a waiter, it runs that waiter.
func TestMain(m *testing.M) {
	if masters := os.Getenv(waiterVariable); masters != "" {
		fmt.Fprintln(os.Stderr, "waiter:", runWaiter(masters))
		os.Exit(1)
	}
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(machine.folder)
	os.Exit(code)
}

func prepare() error {
	pool, err := engine("")
	if err != nil {
		return err
	}
	sweep(pool.Client)
	image, err := prepareImage(pool.Client)
	if err != nil {
		return err
	}
	machine.docker, machine.image = pool, image
	machine.folder, err = os.MkdirTemp("", "redlock-test")
	return err
}

// engine connects to the Docker engine at address, or to the one that the environment names if
// address is "".
func engine(address string) (*dockertest.Pool, error) {
	pool, err := dockertest.NewPool(address)
	if err == nil {
		err = pool.Client.Ping()
	}
	if err != nil {
		return nil, fmt.Errorf("Docker does not answer (%w): start the engine, or point DOCKER_HOST at one", err)
	}
	return pool, nil
}

// sweep removes the containers of runs that died. It ignores errors: the next run tries again.
func sweep(client *docker.Client) {
	old, err := client.ListContainers(docker.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {labelExpires}},
	})
	if err != nil {
		return
	}
	for _, c := range old {
		var expires int64
		if _, err := fmt.Sscan(c.Labels[labelExpires], &expires); err == nil && time.Now().Unix() > expires {
			_ = remove(client, c.ID)
		}
	}
}

// remove removes a container, whatever its state, and its volumes.
func remove(client *docker.Client, id string) error {
	return client.RemoveContainer(docker.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true})
}
