package fleet

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
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

// Engine is the machine's Docker engine, with images for masters.
type Engine struct {
	docker *dockertest.Pool
	images []imageName // of the masters in turn
	ports  sync.Map    // that FreePort has returned
}

// Prepare connects to the Docker engine that the environment names, removes what runs that died have
// left there, and finds, builds or pulls the images: by default those that the environment names, see
// imageVariable. It says on standard error, in one line, what it had to build or pull; an error says in one
// line what is missing.
func Prepare(images ...string) (*Engine, error) {
	pool, err := dockertest.NewPool("")
	if err == nil {
		err = pool.Client.Ping()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reach Docker (%w): start the engine, or point DOCKER_HOST at one", err)
	}
	sweep(pool.Client)
	e := &Engine{docker: pool}
	if len(images) == 0 {
		images = strings.Split(os.Getenv(imageVariable), ",")
	}
	for _, named := range images {
		image, err := prepareImage(pool.Client, named)
		if err != nil {
			return nil, err
		}
		e.images = append(e.images, image)
	}
	return e, nil
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

// FreePort picks a port of 127.0.0.1 below the range that systems use for outgoing connections, so that
// the port of a killed master is still free when the master comes back. It never returns the same port
// twice.
func (e *Engine) FreePort() string {
	for {
		candidate := strconv.Itoa(20000 + rand.IntN(12000))
		if _, drawn := e.ports.LoadOrStore(candidate, true); drawn {
			continue
		}
		if listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", candidate)); err == nil {
			listener.Close()
			return candidate
		}
	}
}
