package fleet

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"

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
func prepareImage(client *docker.Client, named string) (imageName, error) {
	there := func(image imageName) bool {
		_, err := client.InspectImage(image.String())
		return err == nil
	}
	image := stockImage
	if named != "" {
		if image = parseImage(named); there(image) {
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
	layer, err := serverLayer("/usr/local/bin/"+image.server(), server, libraries)
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

// serverLayer packs the program under its name, each library where the loader looks for it, and the folders
// that a server needs.
func serverLayer(name, server string, libraries map[string]string) (io.Reader, error) {
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
	if err := add(name, server); err != nil {
		return nil, err
	}
	for name, library := range libraries {
		if err := add(name, library); err != nil {
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
