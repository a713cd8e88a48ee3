package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/overlay"
)

// lab builds broken code and runs what should catch it.
type lab struct {
	root   string                    // of the module, absolute
	dir    string                    // for what is built
	limits map[catcher]time.Duration // how long each may take, by control
}

// longest is how long a catcher may take without a patch.
const longest = 5 * time.Minute

// limit is how long a catcher may take on broken code, that takes d without a patch. It may have
// been luckier then with what else runs here.
func limit(d time.Duration) time.Duration { return 20*time.Second + 4*d }

// grace is for what a test says when its own time limit is over.
const grace = 10 * time.Second

func newLab(root string) (*lab, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "mutants")
	return &lab{root: root, dir: dir, limits: make(map[catcher]time.Duration)}, err
}

func (l *lab) close() { _ = os.RemoveAll(l.dir) }

// control runs each catcher of patches on the code as it is. What fails without any patch shows
// nothing. It also tells how long each takes.
func (l *lab) control(ctx context.Context, patches []*patch) error {
	var list []catcher
	for _, p := range patches {
		for _, by := range p.by {
			if !slices.Contains(list, by) {
				list = append(list, by)
			}
		}
	}
	var mu sync.Mutex
	var failed []error
	beside.Each(list, workers, func(by catcher) {
		dir, err := os.MkdirTemp(l.dir, "control")
		noticed, start := false, time.Now()
		if err == nil {
			noticed, err = l.run(ctx, dir, "", by, longest)
		}
		mu.Lock()
		defer mu.Unlock()
		l.limits[by] = limit(time.Since(start))
		if err == nil && noticed {
			err = errors.New("it fails")
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%v, without a patch: %w", by, err))
		}
	})
	return errors.Join(failed...)
}

// try runs the catchers of p on the code that it breaks. It fails if one of them does not notice.
func (l *lab) try(ctx context.Context, p *patch) error {
	dir, err := os.MkdirTemp(l.dir, p.name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	overlay, err := l.overlay(dir, p)
	if err != nil {
		return err
	}
	for _, by := range p.by {
		noticed, err := l.run(ctx, dir, overlay, by, l.limits[by])
		if err == nil && !noticed {
			err = fmt.Errorf("%v does not notice", by)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// overlay writes the files that p changes to dir, and the JSON that lays them over the code.
func (l *lab) overlay(dir string, p *patch) (file string, err error) {
	files := overlay.Files{}
	if err := files.Apply(l.root, p.edits); err != nil {
		return "", err
	}
	return files.Write(dir)
}

// run builds a catcher, with an overlay if there is one, and reports whether it fails.
func (l *lab) run(ctx context.Context, dir, overlay string, by catcher, limit time.Duration) (noticed bool, err error) {
	binary := filepath.Join(dir, "catcher")
	build := []string{"test", "-c"}
	args := []string{"-test.failfast", "-test.timeout=" + limit.String(), "-test.run=^" + by.test + "$"}
	if by.pkg == "model" {
		build, args = []string{"build"}, []string{"-teeth", "-run=" + by.test}
	}
	if overlay != "" {
		build = append(build, "-overlay="+overlay)
	}
	command := exec.CommandContext(ctx, "go", append(build, "-o", binary, ".")...)
	command.Dir = filepath.Join(l.root, filepath.FromSlash(by.folder())) // which may be in a module of its own
	if out, err := command.CombinedOutput(); err != nil {
		return false, fmt.Errorf("%s does not compile: %w\n%s", by.pkg, err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	command = exec.CommandContext(ctx, binary, args...)
	command.Dir = filepath.Join(l.root, filepath.FromSlash(by.folder()))
	err = command.Run()
	switch _, failed := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil && by.pkg == "model":
		return false, nil // nothing was found in the time that there is
	case ctx.Err() != nil:
		return false, fmt.Errorf("%s did not end: %w", by, ctx.Err())
	case failed:
		return true, nil
	}
	return false, err
}
