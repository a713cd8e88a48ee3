package fleet

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ory/dockertest/v3/docker"
)

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
