package integration

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"

	"example.com/redlock/internal/check"
)

// TestImage: the image of the Dockerfile has the command, which runs there, and little else.
func TestImage(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	folder := t.TempDir()
	command := filepath.Join(folder, "out/redlock-linux-"+runtime.GOARCH)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", command, ".")
	build.Dir = "../cmd/redlock"
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	check.OK(t, os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte(check.File(t, "../Dockerfile")), 0o644))

	pool, err := dockertest.NewPool("")
	check.OK(t, err)
	var said bytes.Buffer
	name := fmt.Sprintf("redlock-test/command:%d", os.Getpid())
	err = pool.Client.BuildImage(docker.BuildImageOptions{
		Name: name, ContextDir: folder, OutputStream: &said, Context: ctx, RmTmpContainer: true, ForceRmTmpContainer: true,
		BuildArgs: []docker.BuildArg{{Name: "TARGETARCH", Value: runtime.GOARCH}},
	})
	if err != nil {
		t.Fatalf("building the image: %v\n%s", err, &said)
	}
	t.Cleanup(func() { check.OK(t, pool.Client.RemoveImage(name)) })
	image, err := pool.Client.InspectImage(name)
	check.OK(t, err)
	t.Logf("the image has %.1f MB", float64(image.Size)/1e6)
	check.That(t, image.Size <= 15e6, "the image has %d bytes, want at most 15 MB", image.Size)

	said.Reset()
	container, err := pool.Client.CreateContainer(docker.CreateContainerOptions{Config: &docker.Config{
		Image: name, Cmd: []string{"doctor", "--masters", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"},
	}})
	check.OK(t, err)
	t.Cleanup(func() {
		check.OK(t, pool.Client.RemoveContainer(docker.RemoveContainerOptions{ID: container.ID, Force: true}))
	})
	check.OK(t, pool.Client.StartContainer(container.ID, nil))
	code, err := pool.Client.WaitContainerWithContext(container.ID, ctx)
	check.OK(t, err)
	check.OK(t, pool.Client.Logs(docker.LogsOptions{Container: container.ID, Stdout: true, Stderr: true, OutputStream: &said, ErrorStream: &said}))
	check.That(t, code != 0 && strings.Contains(said.String(), "connection refused"), "doctor of masters that are not there ended with %d and said:\n%s", code, &said)
}
