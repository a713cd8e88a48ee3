package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// program is a redis-server that can be started.
type program struct {
	path    string
	libs    string // folders of shared libraries that it needs besides the system's
	version string
}

// command returns the command that starts a redis-server. Debian's binary is named redis-check-rdb,
// and acts as the program that argv[0] names.
func (p program) command(args ...string) *exec.Cmd {
	command := &exec.Cmd{Path: p.path, Args: append([]string{"redis-server"}, args...)}
	if p.libs != "" {
		command.Env = append(os.Environ(), "LD_LIBRARY_PATH="+p.libs)
	}
	return command
}

// findProgram finds redis-server in the PATH or in the user's cache. If it is in neither, findProgram
// downloads Debian's packages and unpacks them into the cache; it installs nothing.
func findProgram(ctx context.Context, log io.Writer) (program, error) {
	for _, name := range []string{"redis-server", "redis-check-rdb"} {
		if path, err := exec.LookPath(name); err == nil {
			return program{path: path}.check()
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return program{}, err
	}
	root := filepath.Join(cache, "redlock-bench", "redis")
	if _, err := os.Stat(root); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(log, "bench: no redis-server in the PATH; fetching Debian's into", root)
		if err := unpackPackages(ctx, root); err != nil {
			return program{}, fmt.Errorf("redis-server is not in the PATH and cannot be fetched: %w", err)
		}
	}
	libs, err := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-gnu*"))
	if err != nil {
		return program{}, err
	}
	return program{
		path: filepath.Join(root, "usr", "bin", "redis-check-rdb"),
		libs: strings.Join(libs, string(os.PathListSeparator)),
	}.check()
}

// check asks p for its version, which also shows that it runs.
func (p program) check() (program, error) {
	command := p.command("--version")
	out, err := command.CombinedOutput()
	if err != nil {
		return p, fmt.Errorf("%s does not run: %w: %s", p.path, err, lastLine(out))
	}
	for field := range strings.FieldsSeq(string(out)) {
		if version, ok := strings.CutPrefix(field, "v="); ok {
			p.version = version
		}
	}
	return p, nil
}

// unpackPackages downloads Debian's redis-tools, which contains the program, and the libraries that
// it depends on, and unpacks them into root. root appears only when it is complete.
func unpackPackages(ctx context.Context, root string) error {
	parent := filepath.Dir(root)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(parent, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	listed, err := run(ctx, work, "apt-cache", "depends", "--important", "redis-tools")
	if err != nil {
		return err
	}
	if _, err := run(ctx, work, "apt-get", append([]string{"download"}, packagesIn(listed)...)...); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil {
		return err
	}
	for _, archive := range archives {
		if _, err := run(ctx, work, "dpkg-deb", "-x", archive, "unpacked"); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(work, "unpacked"), root)
}

// packagesIn reads the output of apt-cache depends. It leaves out the C library, which must be the
// one that belongs to the system's loader.
func packagesIn(depends []byte) []string {
	packages := []string{"redis-tools"}
	for line := range strings.Lines(string(depends)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: ")
		if ok && name != "libc6" && strings.HasPrefix(name, "lib") {
			packages = append(packages, name)
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages)
}

func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", name, args[0], err, lastLine(complaint.Bytes()))
	}
	return out, nil
}

func lastLine(out []byte) string {
	out = bytes.TrimSpace(out)
	return string(out[bytes.LastIndexByte(out, '\n')+1:])
}
