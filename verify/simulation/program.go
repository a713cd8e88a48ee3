package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/redlock/internal/deterministic"
)

// program is the tests of package redlock, compiled.
type program struct {
	path   string
	folder string // its folder
	dir    string // for files
}

// build compiles the tests of the module in root, with a runtime that can be seeded or with Go's own.
func build(ctx context.Context, root, dir string, seeded bool) (*program, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	p := &program{filepath.Join(dir, "redlock.test"), filepath.Join(root, "redlock"), dir}
	args := []string{"test", "-c", "-o", p.path}
	if seeded {
		file, err := lay(ctx, root, dir)
		if err != nil {
			return nil, err
		}
		mod, err := modfile(ctx, root, dir)
		if err != nil {
			return nil, err
		}
		args = append(args, "-overlay", file, "-modfile", mod)
	}
	command := exec.CommandContext(ctx, "go", append(args, "./redlock")...)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return p, nil
}

// longest is how long a process may take for a few hundred seeds.
const longest = 30 * time.Minute

// run runs seeds, one after the other, and returns what the tests print.
func (p *program) run(ctx context.Context, first, seeds uint64, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, p.path, append([]string{
		"-test.run=^TestSim$", fmt.Sprintf("-test.timeout=%v", longest),
		fmt.Sprintf("-sim-first=%d", first), fmt.Sprintf("-sim=%d", seeds),
	}, args...)...)
	command.Dir = p.folder
	// One goroutine at a time, and no time zone or the like to follow.
	command.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=all")
	return command.CombinedOutput()
}

// replay runs one seed, and writes its history to a file if that has a name.
func (p *program) replay(ctx context.Context, seed uint64, history string) ([]byte, error) {
	var args []string
	if history != "" {
		path, err := filepath.Abs(history)
		if err != nil {
			return nil, err
		}
		args = append(args, "-sim-history="+path)
	}
	return p.run(ctx, seed, 1, args...)
}

// history runs one seed, and returns what the tests print and its history, that of a seed that fails too.
func (p *program) history(ctx context.Context, seed uint64) (out, history []byte, err error) {
	file := filepath.Join(p.dir, fmt.Sprint("seed", seed))
	defer os.Remove(file)
	out, failed := p.replay(ctx, seed, file)
	history, err = os.ReadFile(file)
	return out, history, errors.Join(failed, err)
}

// portion runs seeds in one process and returns what became of those that it got through. out is what the
// process printed, if any of them failed; crashed says that it ended in the one after the last.
func (p *program) portion(ctx context.Context, first, seeds uint64) (done []deterministic.Report, out []byte, crashed bool, err error) {
	file := filepath.Join(p.dir, fmt.Sprintf("report%d", first))
	defer os.Remove(file)
	out, failed := p.run(ctx, first, seeds, "-sim-report="+file)
	if ctx.Err() != nil {
		return nil, nil, false, ctx.Err()
	}
	lines, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, false, err
	}
	for line := range bytes.Lines(lines) {
		var r deterministic.Report
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, nil, false, err
		}
		done = append(done, r)
	}
	if failed == nil && uint64(len(done)) != seeds {
		return nil, nil, false, fmt.Errorf("%d of %d seeds were reported", len(done), seeds)
	}
	return done, out, failed != nil && uint64(len(done)) < seeds, nil
}
