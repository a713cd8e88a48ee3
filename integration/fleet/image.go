package fleet

import (
	"archive/tar"
	"bytes"
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

	"example.com/redlock/internal/redisserver"
)

// imageVariable is the environment variable that names an image to use, such as "redis:8".
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

func parseImage(s string) imageName {
	if colon := strings.LastIndex(s, ":"); colon > strings.LastIndex(s, "/") {
		return imageName{repository: s[:colon], tag: s[colon+1:]}
	}
	return imageName{repository: s, tag: "latest"}
}

var (
	builtImage = imageName{"redlock-test/redis", "local"} // built by buildImage, and found by the next run
	stockImage = imageName{"redis", "7"}
)

// prepareImage returns the masters' image, in which redis-server is in the PATH, or valkey-server if it is called
// that: a fleet needs nothing else. If imageVariable names an image, it is that one and no other. Else it is the
// image that an earlier run built, or one that is built now if that can be done, or the stock image. It says in one
// line what it had to do.
func prepareImage(client *docker.Client) (imageName, error) {
	there := func(image imageName) bool {
		_, err := client.InspectImage(image.String())
		return err == nil
	}
	image := stockImage
	if named := os.Getenv(imageVariable); named != "" {
		image = parseImage(named)
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

// serverLayer packs the program as /usr/local/bin/redis-server, each library where the loader looks
// for it, and the folders that a server needs.
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

// sharedLibraries lists the absolute paths that ldd names, including the loader.
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
