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

	"example.com/redlock/integration/skew"
)

const module = "example.com/redlock"

// Programs are the client programs.
type Programs struct {
	Right  string
	Skewed string // its wall clock is off by what the environment says; it may be missing where no fault needs it
}

// Build builds the client programs of somewhere in folder: the one with the
// skewed clock, for which most of the standard library is compiled again, only if it is among the kinds of faults, or
// if there are none, which is all. args are more arguments for go build, but not for that program, which has an overlay
// already.
//
// Goroutines: two, one per program. Build waits for them.
func Build(ctx context.Context, folder string, faults []string, args ...string) (Programs, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return Programs{}, fmt.Errorf("where is module %s: %w", module, err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "integration", "client")
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
		overlay, err := skew.Overlay(ctx, folder)
		if err == nil {
			err = build(ctx, source, programs.Skewed, "-overlay="+overlay)
		}
		skewed = err
	})
	wg.Wait()
	return programs, errors.Join(right, skewed)
}

func build(ctx context.Context, source, program string, args ...string) error {
	args = append([]string{"-C", source, "build", "-buildvcs=false", "-o", program}, args...)
	if out, err := exec.CommandContext(ctx, "go", append(args, ".")...).CombinedOutput(); err != nil {
		return fmt.Errorf("go build of %s: %w\n%s", filepath.Base(source), err, out)
	}
	return nil
}
