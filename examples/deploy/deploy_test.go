// Package deploy tests deploy.sh, a deploy script that takes a lock with the redlock command.
package deploy

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// buildCommand builds the redlock command and returns the PATH that leads to it.
func buildCommand(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(folder, "redlock"), ".")
	build.Dir = "../../cmd/redlock" // a module of its own
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return folder + string(os.PathListSeparator) + os.Getenv("PATH")
}

// deploy runs deploy.sh, with a ship script that takes its time and writes to log, and returns its
// exit code.
func deploy(t *testing.T, path, masters, log, wait, version string) int {
	t.Helper()
	script := exec.CommandContext(t.Context(), "sh", "./deploy.sh", version, "web1", "web2", "web3")
	script.Env = append(os.Environ(), "PATH="+path, "REDLOCK_MASTERS="+masters, "LOG="+log, "SHIP=testdata/ship.sh", "DEPLOY_WAIT="+wait)
	out, err := script.CombinedOutput()
	if err != nil && script.ProcessState == nil {
		t.Errorf("deploy.sh: %v\n%s", err, out)
		return -1
	}
	return script.ProcessState.ExitCode()
}

func TestDeploy(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip(err)
	}
	path, log := buildCommand(t), filepath.Join(t.TempDir(), "log")
	fleet := redlocktest.Start(t, 3)
	masters := strings.Join(fleet.URLs(), ",")

	// Four deployments start together. Each is done before the next begins.
	versions := []string{"v1", "v2", "v3", "v4"}
	var deployments sync.WaitGroup
	for _, version := range versions {
		deployments.Go(func() {
			check.Equal(t, deploy(t, path, masters, log, "1m", version), 0, "deploy.sh %s ended with", version)
		})
	}
	deployments.Wait()
	var order, tokens []string
	for line := range strings.Lines(check.File(t, log)) {
		words := strings.Fields(line) // web1 v1 token
		order, tokens = append(order, words[1]), append(tokens, words[2])
	}
	check.That(t, len(order) == 12 && len(slices.Compact(slices.Clone(order))) == 4, "the deployments were mixed: %q", order)
	check.That(t, slices.IsSorted(tokens), "the tokens do not grow: %q", tokens)

	// One that does not get its turn in time says so.
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	check.OK(t, err)
	defer client.Close()
	check.OK(t, client.Do(t.Context(), "deploy:shop", func(context.Context) error {
		check.Equal(t, deploy(t, path, masters, log, "100ms", "v5"), 75, "deploy.sh beside another deployment ended with")
		return nil
	}))
}
