package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const module = "example.com/redlock"

// Programs are the client programs.
type Programs struct {
	Right  string
	Skewed string // its wall clock is off by what the environment says; it may be missing where no fault needs it
	Old    string // of an earlier commit, for two of four clients; none: all clients are of this one
}

// Build builds the client programs of somewhere in folder: the one with the
// skewed clock, for which most of the standard library is compiled again, only if it is among the kinds of faults, or
// if there are none, which is all. args are more arguments for go build, but not for that program, which has an overlay
// already.
//
// Goroutines: two, one per program. Build waits for them.
func Build(ctx context.Context, folder string, faults []string, args ...string) (Programs, error) {
	root, err := root(ctx)
	if err != nil {
		return Programs{}, err
	}
	source := filepath.Join(root, "integration", "client")
	if folder, err = os.MkdirTemp(folder, "client"); err != nil {
		return Programs{}, err
	}
	programs := Programs{Right: filepath.Join(folder, "client"), Skewed: filepath.Join(folder, "skewed")}
	var wg sync.WaitGroup
	var right, skewed error
	wg.Go(func() { right = build(ctx, source, programs.Right, args...) })
	wg.Go(func() {
		if len(faults) > 0 && !slices.Contains(faults, ClientSkew) {
			return
		}
		overlay, err := skewOverlay(ctx, folder)
		if err == nil {
			err = build(ctx, source, programs.Skewed, "-overlay="+overlay)
		}
		skewed = err
	})
	wg.Wait()
	return programs, errors.Join(right, skewed)
}

// BuildOld builds the client program of an earlier commit in folder, and returns where it is. It needs git, and a
// clone that has the commit.
func BuildOld(ctx context.Context, folder, commit string) (string, error) {
	root, err := root(ctx)
	if err != nil {
		return "", err
	}
	if folder, err = os.MkdirTemp(folder, "old"); err != nil {
		return "", err
	}
	archive := filepath.Join(folder, "source.tar")
	source, program := filepath.Join(folder, "source"), filepath.Join(folder, "client")
	if err := os.Mkdir(source, 0o755); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"git", "-C", root, "archive", "--output", archive, commit},
		{"tar", "-x", "-f", archive, "-C", source},
	} {
		if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("source of commit %s: %w\n%s", commit, err, out)
		}
	}
	return program, build(ctx, filepath.Join(source, "integration", "client"), program)
}

// root returns the folder of the module.
func root(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("where is module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func build(ctx context.Context, source, program string, args ...string) error {
	args = append([]string{"-C", source, "build", "-buildvcs=false", "-o", program}, args...)
	if out, err := exec.CommandContext(ctx, "go", append(args, ".")...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build of %s: %w\n%s", filepath.Base(source), err, out)
	}
	return nil
}
