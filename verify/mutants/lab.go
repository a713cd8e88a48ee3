package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// result is what a catcher saw.
type result struct {
	by   catcher
	who  string // noticed, empty if nobody did
	took time.Duration
}

func (r result) String() string {
	if r.who == "" {
		return fmt.Sprintf("not by %s, %.1f s", r.by, r.took.Seconds())
	}
	return fmt.Sprintf("%s, %.1f s", r.who, r.took.Seconds())
}

// control runs each catcher of patches on the code as it is. What fails without any patch shows
// nothing. It also tells how long each takes.
func (l *lab) control(ctx context.Context, patches []*patch, workers int) error {
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
		who, took := "", time.Duration(0)
		if err == nil {
			who, took, err = l.run(ctx, dir, "", by, longest)
		}
		mu.Lock()
		defer mu.Unlock()
		l.limits[by] = limit(took)
		switch {
		case err != nil:
			failed = append(failed, fmt.Errorf("%v, without a patch: %w", by, err))
		case who != "":
			failed = append(failed, fmt.Errorf("%s fails without a patch", who))
		}
	})
	return errors.Join(failed...)
}

// try runs the catchers of p on the code that it breaks, and returns what each saw.
func (l *lab) try(ctx context.Context, p *patch) (list []result, err error) {
	dir, err := os.MkdirTemp(l.dir, p.name)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	overlay, err := l.overlay(dir, p)
	if err != nil {
		return nil, err
	}
	for _, by := range p.by {
		who, took, err := l.run(ctx, dir, overlay, by, l.limits[by])
		if err != nil {
			return nil, err
		}
		list = append(list, result{by, who, took})
	}
	return list, nil
}

// overlay writes the files that p changes to dir, and the JSON that lays them over the code.
func (l *lab) overlay(dir string, p *patch) (file string, err error) {
	files := overlay.Files{}
	if err := files.Apply(l.root, p.edits); err != nil {
		return "", err
	}
	return files.Write(dir)
}

// run builds a catcher, with an overlay if there is one, and runs it. who is empty if it passes.
func (l *lab) run(ctx context.Context, dir, overlay string, by catcher, limit time.Duration) (who string, took time.Duration, err error) {
	binary := filepath.Join(dir, "catcher")
	build := []string{"test", "-c"}
	args := []string{"-test.failfast", "-test.timeout=" + limit.String(), "-test.skip=^TestSim|Long$"}
	if by.test != "" {
		args[len(args)-1] = "-test.run=^" + by.test + "$"
	}
	if by.pkg == "model" {
		build, args = []string{"build"}, []string{"-teeth"}
		if by.test != "" {
			args = append(args, "-run="+by.test)
		}
	}
	if overlay != "" {
		build = append(build, "-overlay="+overlay)
	}
	command := exec.CommandContext(ctx, "go", append(build, "-o", binary, ".")...)
	command.Dir = filepath.Join(l.root, filepath.FromSlash(by.folder())) // which may be in a module of its own
	if out, err := command.CombinedOutput(); err != nil {
		return "", 0, fmt.Errorf("%s does not compile: %w\n%s", by.pkg, err, out)
	}
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	command = exec.CommandContext(ctx, binary, args...)
	command.Dir = filepath.Join(l.root, filepath.FromSlash(by.folder()))
	start := time.Now()
	out, err := command.CombinedOutput()
	took = time.Since(start)
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil && by.pkg == "model":
		return "", took, nil // nothing was found in the time that there is
	case ctx.Err() != nil:
		return "", 0, fmt.Errorf("%s did not end: %w", by, ctx.Err())
	case err == nil:
		return "", took, nil
	case !failed:
		return "", 0, err
	}
	return verdict(by, string(out)), took, nil
}

func (c catcher) String() string {
	if c.test == "" {
		return c.pkg
	}
	return c.pkg + " " + c.test
}

var (
	failedTest   = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)
	runningTest  = regexp.MustCompile(`running tests:\n\s*(\w+)`)
	testOfStack  = regexp.MustCompile(`\.(Test\w+?)(?:\.func[\d.]+)*\(`)
	failedSearch = regexp.MustCompile(`(?m)^(.*?)\s+\d+ states .* FAIL (.*?)(?:: from \d+ states|, in step|$)`)
)

// verdict says who noticed, by what a catcher printed that failed.
func verdict(by catcher, out string) string {
	if by.pkg == "model" {
		if found := failedSearch.FindStringSubmatch(out); found != nil {
			return fmt.Sprintf("search, case *%s*: %s", found[1], found[2])
		}
		return "search: " + lastLine(out)
	}
	what, name := "", "TestMain"
	switch {
	case strings.Contains(out, "panic: test timed out"):
		what, name = ", by its time limit", first(runningTest, out, name)
	case failedTest.MatchString(out):
		name = first(failedTest, out, name)
	default: // a panic beside the test's own goroutine, or a goroutine that was left behind
		name = first(testOfStack, out, name)
	}
	kind := "unit test"
	switch {
	case strings.HasPrefix(name, "TestSim"):
		kind = "simulation"
	case by.pkg == "integration":
		kind = "chaos"
	}
	return fmt.Sprintf("%s `%s` (%s)%s", kind, name, by.pkg, what)
}

func first(pattern *regexp.Regexp, out, otherwise string) string {
	if found := pattern.FindStringSubmatch(out); found != nil {
		return found[1]
	}
	return otherwise
}

func lastLine(out string) string {
	out = strings.TrimSpace(out)
	return out[strings.LastIndexByte(out, '\n')+1:]
}
