package integration

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/redlock/integration/trial"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
)

// TestChaos: for a minute, all kinds of harm are done to five masters and to five client processes, singly
// and together, and a judge who sees only the history of it finds no promise broken. The history and the
// picture are among the artifacts.
func TestChaos(t *testing.T) {
	cfg := trial.Config{Seed: rand.Uint64(), Lasts: time.Minute, Masters: 5, Clients: 5}
	cfg.Replay = fmt.Sprintf("go run ./integration/chaos -seed %d -minutes 1", cfg.Seed)
	plan := trial.NewPlan(cfg)
	report, text, err := tryOut(t, cfg, plan)
	t.Log(text)
	if err != nil {
		t.Error(err)
	}
	s := report.Summary
	for _, a := range plan.Acts {
		check.That(t, !slices.Contains(trial.Kinds(), a.Kind) || s.Faults[a.Kind] != 0, "there was no %s, and the plan has it", a.Kind)
	}
	// How much clients get done in a minute is a matter of the machine: some hundreds of holds, if it has the time.
	for _, do := range []history.Do{history.Lock, history.RLock, history.Unlock} {
		check.That(t, s.Calls[do] != 0, "there was no call of %s", do)
	}
}

// The tests that follow are trials with a plan of their own: the judge must find that all promises were kept.
// What clients do is the same in each: package workload.

// TestRestarts: masters restart empty, one after another, a guard apart, and then all at once: while clients
// whose clocks are hours apart lock, when none is left that could remember a token, and again and again.
func TestRestarts(t *testing.T) {
	carryOut(t, 3, 3, trial.Plan{Acts: []trial.Act{
		{At: at(0), Lasts: at(22), Kind: trial.ClientSkew, On: on("c1"), Offset: -time.Hour},
		{At: at(0), Lasts: at(22), Kind: trial.ClientSkew, On: on("c3"), Offset: +time.Hour},
		{At: at(4), Kind: trial.KillEmpty, On: on("m1")},
		{At: at(8), Kind: trial.KillEmpty, On: on("m2")},
		{At: at(12), Kind: trial.KillEmpty, On: on("m3")},
		{At: at(16), Kind: trial.KillEmpty, On: on("m1 m2 m3")},
		{At: at(25), Lasts: at(3), Kind: trial.ClientKilled, On: on("c1 c2 c3")},
		{At: at(26), Lasts: at(1), Kind: trial.KillEmpty, On: on("m1 m2 m3")},
		{At: at(32), Kind: trial.KillEmpty, On: on("m1 m2 m3")},
		{At: at(37), Kind: trial.KillEmpty, On: on("m1 m2")},
		{At: at(42), Kind: trial.KillEmpty, On: on("m2 m3")},
	}})
}

// TestMajorityAway: a majority of the masters is killed, frozen, cut off, and out of memory for longer than a
// lease, and a minority beside that.
func TestMajorityAway(t *testing.T) {
	carryOut(t, 5, 3, trial.Plan{Durable: []bool{true, true, true, false, false}, Acts: []trial.Act{
		{At: at(4), Lasts: at(4), Kind: trial.KillAOF, On: on("m1 m2 m3")},
		{At: at(6), Lasts: at(1), Kind: trial.KillEmpty, On: on("m4 m5")},
		{At: at(13), Lasts: at(4), Kind: trial.Pause, On: on("m2 m3 m4")},
		{At: at(19), Lasts: at(4), Kind: trial.Cut, On: on("m3 m4 m5")},
		{At: at(20), Lasts: at(2), Kind: trial.Pause, On: on("m1 m2")},
		{At: at(25), Lasts: at(3), Kind: trial.CutBack, On: on("m1 m3 m5")},
		{At: at(29), Lasts: at(3), Kind: trial.MemoryFull, On: on("m1 m2 m3")},
	}})
}

// TestClientsAway: processes are stopped for longer than their leases, or killed, while they have locks and
// while they wait.
func TestClientsAway(t *testing.T) {
	carryOut(t, 3, 4, trial.Plan{Acts: []trial.Act{
		{At: at(4), Lasts: at(4), Kind: trial.ClientStop, On: on("c1 c2")},
		{At: at(6), Lasts: at(1), Kind: trial.ClientKilled, On: on("c3")},
		{At: at(9), Lasts: at(4), Kind: trial.ClientStop, On: on("c3 c4")},
		{At: at(10), Lasts: at(1), Kind: trial.ClientKilled, On: on("c1")},
		{At: at(14), Lasts: at(1), Kind: trial.ClientStopped, On: on("c1 c2 c3 c4")},
		{At: at(16), Lasts: at(4), Kind: trial.ClientStop, On: on("c1 c2 c3 c4")},
		{At: at(21), Lasts: at(1), Kind: trial.ClientKilled, On: on("c1 c2 c3 c4")},
	}})
}

// TestReplaceMaster: the last master is replaced for good, as docs/changes.md says: one step after the
// other, each rolled out process by process. It is dead; it still works, and processes of before and of after
// a step each miss another of the masters that they share; or it is the only one.
func TestReplaceMaster(t *testing.T) {
	// rollout has each client use set, from second s on.
	rollout := func(s float64, set string) (acts []trial.Act) {
		for i, client := range on("c1 c2 c3") {
			acts = append(acts, trial.Act{At: at(s + 3*float64(i)), Lasts: at(2), Kind: trial.ClientSet, On: on(client), Set: on(set)})
		}
		return acts
	}
	// gone kills masters, until second s+lasts.
	gone := func(s, lasts float64, masters string) trial.Act {
		return trial.Act{At: at(s), Lasts: at(lasts), Kind: trial.KillEmpty, On: on(masters)}
	}
	for _, c := range []struct {
		name    string
		masters int
		plan    trial.Plan
	}{
		{"dead", 4, trial.Plan{Set: on("m1 m2 m3"), Acts: join(
			[]trial.Act{gone(0, 14, "m4"), gone(5, 30, "m3")}, // there is no m4 yet
			rollout(7, "m1 m2"), rollout(19, "m1 m2 m4"),
			[]trial.Act{gone(28, 4, "m1")},
		)}},
		{"still works", 4, trial.Plan{Set: on("m1 m2 m3"), Acts: join(
			[]trial.Act{
				{At: at(4), Lasts: at(20), Kind: trial.CutClient, On: on("c1 m1")},
				{At: at(4), Lasts: at(20), Kind: trial.CutClient, On: on("c2 m2")},
			},
			rollout(5, "m1 m2 m3 m4"), rollout(17, "m1 m2 m4"),
			[]trial.Act{gone(26, 5, "m3"), gone(27, 4, "m1")},
		)}},
		{"the only one", 2, trial.Plan{Set: on("m1"), Acts: join(
			rollout(5, "m1 m2"), rollout(17, "m2"), []trial.Act{gone(26, 3, "m1")},
		)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if s := carryOut(t, c.masters, 3, c.plan).Summary; s.Wasted > 0 {
				t.Errorf("%d holds were lost, %d of them though somebody had time to renew them", s.Lost, s.Wasted)
			}
		})
	}
}

// TestChaosHasTeeth: clients that break a rule are found out: two have a lock, or both are left on a master. Where a
// machine lets them do little, it takes more than one trial.
func TestChaosHasTeeth(t *testing.T) {
	t.Parallel()
	mutants := exec.CommandContext(begin(t), "go", "run", "./verify/mutants", "-overlay", t.TempDir(), "-run", "^reader-let-in-beside-a-writer$")
	mutants.Dir = ".."
	overlay, err := mutants.Output()
	check.OK(t, err, "mutants")
	cfg := trial.Config{Lasts: 10 * time.Second, Masters: 5, Clients: 3}
	if cfg.Programs, err = trial.Build(t.Context(), t.TempDir(), []string{trial.Cut, trial.Pause}, "-overlay="+strings.TrimSpace(string(overlay))); err != nil {
		t.Fatal(err)
	}
	for ; cfg.Seed < 5; cfg.Seed++ {
		report, text, _ := tryOut(t, cfg, trial.Plan{Acts: []trial.Act{
			{At: at(6), Lasts: at(2), Kind: trial.Cut, On: on("m1 m2 m3")},
			{At: at(9), Lasts: at(1), Kind: trial.Pause, On: on("m1 m2 m3")},
		}})
		if slices.ContainsFunc(report.Checks, func(c judge.Check) bool { return c.Verdict() == judge.Failed }) {
			return
		}
		t.Logf("the judge finds nothing:\n%s", text)
	}
	t.Error("the judge has found nothing in any trial")
}

func at(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func on(names string) []string { return strings.Fields(names) }

// join puts acts in the order of time.
func join(parts ...[]trial.Act) []trial.Act {
	all := slices.Concat(parts...)
	slices.SortStableFunc(all, func(a, b trial.Act) int { return cmp.Compare(a.At, b.At) })
	return all
}

// carryOut carries out a plan, beside other tests, and wants every promise kept.
func carryOut(t *testing.T, masters, clients int, plan trial.Plan) *judge.Report {
	t.Helper()
	t.Parallel()
	cfg := trial.Config{Masters: masters, Clients: clients, Seed: 1}
	for _, a := range plan.Acts {
		cfg.Lasts = max(cfg.Lasts, a.At+a.Lasts)
	}
	report, text, err := tryOut(t, cfg, plan)
	t.Log(text)
	if err != nil {
		t.Error(err)
	}
	if s := report.Summary; judge.Sum(s.Holds) == 0 || len(s.Undone) > 0 {
		t.Errorf("%d holds; these faults could not be done: %v", judge.Sum(s.Holds), s.Undone)
	}
	return report
}

// rightClients are the programs of clients that break no rule, built once for all trials.
var rightClients = sync.OnceValues(func() (trial.Programs, error) {
	return trial.Build(context.Background(), machine.folder, nil)
})

// tryOut runs a trial, and returns the judge's report, its text and what is wrong.
func tryOut(t *testing.T, cfg trial.Config, plan trial.Plan) (*judge.Report, string, error) {
	t.Helper()
	cfg.Out, cfg.Title = filepath.Join(t.ArtifactDir(), fmt.Sprint("seed-", cfg.Seed)), fmt.Sprintf("%s, seed %d", t.Name(), cfg.Seed)
	var err error
	if cfg.Programs.Right == "" {
		if cfg.Programs, err = rightClients(); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	report, err := trial.Run(begin(t), cfg, plan, &text) // what is late makes the rest late
	if report == nil {
		t.Fatal(err)
	}
	return report, text.String(), errors.Join(err, report.Err())
}
