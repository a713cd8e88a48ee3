package integration

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ory/dockertest/v3/docker"
)

// imageVariable names a stock image to use instead of building one: "redis:7".
const imageVariable = "REDLOCK_REDIS_IMAGE"

// imageName is "repository:tag" in its two halves.
type imageName struct{ repository, tag string }

func (n imageName) String() string { return n.repository + ":" + n.tag }

// builtImage is what prepareImage builds. The next run finds it and builds nothing.
var builtImage = imageName{"redlock-test/redis", "local"}

// prepareImage returns the image that masters run from. In this order: the one that
// REDLOCK_REDIS_IMAGE names (pulled when it is not there), the one an earlier run built,
// one built now. Both kinds have redis-server in the PATH, which is all a fleet asks for.
func prepareImage(client *docker.Client) (imageName, error) {
	if value := os.Getenv(imageVariable); value != "" {
		image := imageName{repository: value, tag: "latest"}
		if colon := strings.LastIndex(value, ":"); colon > strings.LastIndex(value, "/") {
			image = imageName{repository: value[:colon], tag: value[colon+1:]}
		}
		if _, err := client.InspectImage(image.String()); err == nil {
			return image, nil
		}
		err := client.PullImage(docker.PullImageOptions{Repository: image.repository, Tag: image.tag}, docker.AuthConfiguration{})
		if err != nil {
			return imageName{}, fmt.Errorf("pulling %s=%s: %w", imageVariable, value, err)
		}
		return image, nil
	}
	_, err := client.InspectImage(builtImage.String())
	if err == nil {
		return builtImage, nil
	}
	if !errors.Is(err, docker.ErrNoSuchImage) {
		return imageName{}, err
	}
	if err := buildImage(client); err != nil {
		return imageName{}, fmt.Errorf("%w; or name a stock image: %s=redis:7", err, imageVariable)
	}
	fmt.Fprintln(os.Stderr, "integration: built the image", builtImage)
	return builtImage, nil
}

// buildImage imports an image of one layer: the machine's redis-server, the shared
// libraries it loads, and two empty folders. It needs no registry and no network.
func buildImage(client *docker.Client) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("no redis-server of %s runs in a container", runtime.GOOS)
	}
	server, err := findServer()
	if err != nil {
		return err
	}
	layer, err := serverLayer(server)
	if err != nil {
		return fmt.Errorf("packing %s: %w", server, err)
	}
	err = client.ImportImage(docker.ImportImageOptions{
		Repository:   builtImage.repository,
		Tag:          builtImage.tag,
		Source:       "-",
		InputStream:  layer,
		OutputStream: io.Discard,
	})
	if err != nil {
		return fmt.Errorf("importing %s: %w", builtImage, err)
	}
	return nil
}

// findServer returns the path of redis-server, after installing it where that can be
// done without asking anybody.
//
// On Debian the program is in the package redis-tools, under the name redis-check-rdb (it
// asks argv[0] what to be). redis-server, the package, would add a running service.
func findServer() (string, error) {
	look := func() (string, bool) {
		for _, name := range []string{"redis-server", "redis-check-rdb"} {
			if found, err := exec.LookPath(name); err == nil {
				return found, true
			}
		}
		return "", false
	}
	if found, ok := look(); ok {
		return found, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return "", errors.New("redis-server is missing and only root can install it with apt-get: install redis-server (Debian: apt-get install redis-tools)")
	}
	fmt.Fprintln(os.Stderr, "integration: installing redis-tools with apt-get")
	for _, args := range [][]string{
		{"update"},
		{"install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120", "redis-tools"},
	} {
		command := exec.Command("apt-get", args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := command.CombinedOutput(); err != nil {
			return "", fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, lastLine(out))
		}
	}
	if found, ok := look(); ok {
		return found, nil
	}
	return "", errors.New("redis-tools is installed and holds no redis-server: install redis-server by hand")
}

// serverLayer packs the program as /usr/local/bin/redis-server, each library where the
// loader looks for it, and the folders a server wants.
func serverLayer(server string) (io.Reader, error) {
	libraries, err := sharedLibraries(server)
	if err != nil {
		return nil, err
	}
	layer := new(bytes.Buffer)
	archive := tar.NewWriter(layer)
	for _, folder := range []string{"data/", "tmp/"} {
		header := &tar.Header{Name: folder, Typeflag: tar.TypeDir, Mode: 0o1777}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
	}
	add := func(name, source string) error {
		data, err := os.ReadFile(source) // follows symbolic links, as a copy must
		if err != nil {
			return err
		}
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(data))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	}
	if err := add("/usr/local/bin/redis-server", server); err != nil {
		return nil, err
	}
	for _, library := range libraries {
		if err := add(library, library); err != nil {
			return nil, err
		}
	}
	return layer, archive.Close()
}

// sharedLibraries lists the absolute paths that ldd names, the loader among them.
func sharedLibraries(program string) ([]string, error) {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("ldd", real).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", real, err)
	}
	var paths []string
	for field := range strings.FieldsSeq(string(out)) {
		if path.IsAbs(field) {
			paths = append(paths, field)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
