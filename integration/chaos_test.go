package integration

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/redlock/integration/trial"
	"example.com/redlock/internal/judge"
)

// TestChaos: for a minute, all kinds of harm are done to five masters and to five client processes, singly
// and together, and a judge who sees only the history of it finds no promise broken. The history and the
// picture are among the artifacts.
func TestChaos(t *testing.T) {
	ctx := begin(t, 5*time.Minute)
	report, text, err := tryOut(ctx, t, trial.Config{Lasts: time.Minute, Masters: 5, Clients: 5}, nil)
	t.Log(text)
	if err != nil {
		t.Error(err)
	}
	// The least that such a minute has. Less would show nothing.
	const holds, kinds = 200, 15
	got := judge.Sum(report.Summary.Holds)
	if n := len(report.Summary.Faults); got < holds || n < kinds {
		t.Errorf("%d holds and %d kinds of faults, want %d and %d", got, n, holds, kinds)
	}
}

// TestChaosHasTeeth: clients that break a rule are found out, by the check that is for it.
func TestChaosHasTeeth(t *testing.T) {
	t.Parallel()
	most := []string{"m1", "m2", "m3"}
	plan := trial.Plan{Durable: make([]bool, 5), Acts: []trial.Act{
		{At: 6 * time.Second, Lasts: 2 * time.Second, Kind: trial.Cut, On: most},
		{At: 9 * time.Second, Lasts: time.Second, Kind: trial.Pause, On: most},
	}}
	for _, c := range []struct{ patch, check string }{
		{"majority-half", judge.Exclusion},
		{"reader-let-in-beside-a-writer", judge.Exclusion},
	} {
		t.Run(c.patch, func(t *testing.T) {
			t.Parallel()
			ctx := begin(t, 4*time.Minute)
			teeth := exec.CommandContext(ctx, "go", "run", "./teeth", "-overlay", t.TempDir(), "-run", "^"+c.patch+"$")
			teeth.Dir = ".."
			overlay, err := teeth.Output()
			if err != nil {
				t.Fatalf("teeth: %v", err)
			}
			cfg := trial.Config{Lasts: 10 * time.Second, Masters: 5, Clients: 3}
			_, report, err := tryOut(ctx, t, cfg, &plan, "-overlay="+strings.TrimSpace(string(overlay)))
			if err == nil || !strings.Contains(report, "\n"+c.check+" at ") {
				t.Errorf("%v, and in the report no violation of %s:\n%s", err, c.check, report)
			}
		})
	}
}

// tryOut runs a trial, by a plan that its seed determines if plan is nil. It returns the judge's report, its
// text and what is wrong. args are for building the clients.
func tryOut(ctx context.Context, t *testing.T, cfg trial.Config, plan *trial.Plan, args ...string) (*judge.Report, string, error) {
	t.Helper()
	cfg.Seed, cfg.Out = drawSeed(t), t.ArtifactDir()
	cfg.Title = fmt.Sprintf("%s, seed %d", t.Name(), cfg.Seed)
	cfg.Replay = fmt.Sprintf("REDLOCK_SEED=%d go test ./integration -run '^%s$' -v", cfg.Seed, strings.ReplaceAll(t.Name(), "/", "$/^"))
	cfg.Locker, cfg.Lease, cfg.Callers = trial.Redlock, 3*time.Second, 4
	var err error
	if cfg.Programs, err = trial.Build(ctx, t.TempDir(), cfg.Locker, args...); err != nil {
		t.Fatal(err)
	}
	if plan == nil {
		drawn := trial.NewPlan(cfg)
		plan = &drawn
	}
	h, err := trial.Run(ctx, cfg, *plan)
	if h == nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	found, err := trial.Conclude(&report, cfg.Out, h, err)
	if found == nil {
		t.Fatal(err)
	}
	return found, report.String(), err
}
