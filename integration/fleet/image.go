package fleet

import (
	"archive/tar"
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"example.com/redlock/internal/redisserver"
)

// imageVariable is the environment variable that names an image to use, such as "redis:8". Of several, with
// commas between them, masters have one after the other; an empty name is the default.
const imageVariable = "REDLOCK_REDIS_IMAGE"

// imageName is "repository:tag", split in two.
type imageName struct{ repository, tag string }

func (n imageName) String() string { return n.repository + ":" + n.tag }

// server is the program in the image that is a master.
func (n imageName) server() string {
	if strings.HasPrefix(path.Base(n.repository), "valkey") {
		return "valkey-server"
	}
	return "redis-server"
}

var (
	builtImage = imageName{"redlock-test/redis", "local"} // built by buildImage, and found by the next run
	stockImage = imageName{"redis", "7"}
)

// prepareImage returns the masters' image, in which redis-server is in the PATH, or valkey-server if it is called
// that: a fleet needs nothing else. If imageVariable names an image, it is that one and no other. Else it is the
// image that an earlier run built, or one that is built now if that can be done, or the stock image. It says in one
// line what it had to do.
func prepareImage(client *docker.Client, named string) (imageName, error) {
	there := func(image imageName) bool {
		_, err := client.InspectImage(image.String())
		return err == nil
	}
	image := stockImage
	if named != "" {
		image.repository, image.tag = docker.ParseRepositoryTag(named)
		if image.tag = cmp.Or(image.tag, "latest"); there(image) {
			return image, nil
		}
		if from, ok := debianServers[image]; ok {
			return image, from.build(client, image)
		}
	} else if there(builtImage) {
		return builtImage, nil
	} else if why := buildImage(client); why == nil {
		fmt.Fprintln(os.Stderr, "fleet: built the image", builtImage)
		return builtImage, nil
	} else if !there(stockImage) {
		fmt.Fprintf(os.Stderr, "fleet: pulling %s, since no image can be built here: %v\n", stockImage, why)
	}
	if there(image) {
		return image, nil
	}
	return image, pull(client, image)
}

// pull gets an image from its registry.
func pull(client *docker.Client, image imageName) error {
	err := client.PullImage(docker.PullImageOptions{Repository: image.repository, Tag: image.tag}, docker.AuthConfiguration{})
	if err != nil {
		return fmt.Errorf("pulling %s: %w; install redis-server, or name an image that is there: %s=redis:7", image, err, imageVariable)
	}
	return nil
}

// buildImage imports an image of one layer: the machine's redis-server, the shared
// libraries it loads, and two empty folders. It needs no registry and no network.
func buildImage(client *docker.Client) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("no redis-server of %s runs in a container", runtime.GOOS)
	}
	server, err := redisserver.Find()
	if err != nil {
		return err
	}
	libraries, err := sharedLibraries("ldd", server)
	if err != nil {
		return err
	}
	return importImage(client, builtImage, server, libraries)
}

// importImage imports an image that has the server and its libraries.
func importImage(client *docker.Client, image imageName, server string, libraries map[string]string) error {
	libraries["/usr/local/bin/"+image.server()] = server
	layer, err := pack(libraries)
	if err != nil {
		return fmt.Errorf("packing %s: %w", server, err)
	}
	err = client.ImportImage(docker.ImportImageOptions{
		Repository:   image.repository,
		Tag:          image.tag,
		Source:       "-",
		InputStream:  layer,
		OutputStream: io.Discard,
	})
	if err != nil {
		return fmt.Errorf("importing %s: %w", image, err)
	}
	return nil
}

// pack packs programs and libraries, each by where it is looked for, and the folders that a server needs.
func pack(files map[string]string) (io.Reader, error) {
	layer := new(bytes.Buffer)
	archive := tar.NewWriter(layer)
	for _, folder := range []string{"data/", "tmp/"} {
		header := &tar.Header{Name: folder, Typeflag: tar.TypeDir, Mode: 0o1777}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	for name, source := range files {
		data, err := os.ReadFile(source) // follows symbolic links, as a copy must
		if err == nil {
			err = archive.WriteHeader(&tar.Header{
				Name: strings.TrimPrefix(name, "/"), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data)),
			})
		}
		if err == nil {
			_, err = archive.Write(data)
		}
		if err != nil {
			return nil, err
		}
	}
	return layer, archive.Close()
}

// sharedLibraries asks ldd, or a loader, which libraries a program loads, and returns where each is by where the
// program looks for it. The loader is among them.
func sharedLibraries(ldd string, args ...string) (map[string]string, error) {
	out, err := exec.Command(ldd, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", ldd, strings.Join(args, " "), err)
	}
	found := make(map[string]string)
	for line := range strings.Lines(string(out)) { // "libm.so.6 => /lib/libm.so.6 (0x7f…)", or a path alone
		name, file, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if file == "" {
			file = name
		}
		name, _, _ = strings.Cut(name, " ")
		file, _, _ = strings.Cut(file, " ")
		switch {
		case path.IsAbs(name):
			found[name] = file
		case path.IsAbs(file):
			found["/lib/"+name] = file
		}
	}
	return found, nil
}

// Debian's suites carry servers other than the machine's own. An image of each of them is built when
// imageVariable names it: from the package and all that it depends on, unpacked and not installed.

// debianServer is where Debian has a server: a package of a suite.
type debianServer struct{ suite, tools string }

var debianServers = map[imageName]debianServer{
	{"redlock-test/redis6", "local"}:  {"bullseye", "redis-tools"}, // 6.0, which is too old
	{"redlock-test/redis8", "local"}:  {"trixie", "redis-tools"},
	{"redlock-test/valkey8", "local"}: {"trixie", "valkey-tools"},
	{"redlock-test/valkey9", "local"}: {"sid", "valkey-tools"},
}

//go:embed debian.sh
var unpackScript string

// build builds the image.
func (d debianServer) build(client *docker.Client, image imageName) error {
	folder, err := os.MkdirTemp("", "redlock-test")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if out, err := exec.Command("sh", "-c", unpackScript, "debian.sh", folder, d.suite, d.tools).CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("unpacking %s of Debian's %s, which needs apt-get and dpkg: %w: %s", d.tools, d.suite, err, lines[len(lines)-1])
	}
	kind, _, _ := strings.Cut(d.tools, "-")
	server := filepath.Join(folder, "usr/bin", kind+"-check-rdb") // which is the server under another name
	loaders, _ := filepath.Glob(filepath.Join(folder, "usr/lib/*/ld-linux-*.so.*"))
	old, _ := filepath.Glob(filepath.Join(folder, "lib/*/ld-linux-*.so.*"))
	if loaders = append(loaders, old...); len(loaders) == 0 {
		return fmt.Errorf("no loader in Debian's %s", d.suite)
	}
	beside := filepath.Dir(loaders[0])
	folders := beside + ":" + filepath.Join(folder, "usr/lib", filepath.Base(beside))
	libraries, err := sharedLibraries(loaders[0], "--library-path", folders, "--list", server)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "fleet: built the image %s from %s of Debian's %s\n", image, d.tools, d.suite)
	return importImage(client, image, server, libraries)
}

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
	ports  sync.Map    // that freePort has returned
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

// freePort picks a port of 127.0.0.1 below the range that systems use for outgoing connections, so that
// the port of a killed master is still free when the master comes back. It never returns the same port
// twice.
func (e *Engine) freePort() string {
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
