package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
)

// seeds are some of each kind: see regime in package redlock's tests.
var seeds = []uint64{0, 1, 2, 3}

// historyOf runs a seed in a process of its own. Those before it, which follow no seed of ours, must not
// matter.
func historyOf(t *testing.T, p *program, seed uint64) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "history")
	if out, err := p.replay(t.Context(), seed, file); err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, out)
	}
	history, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return history
}

func built(t *testing.T, seeded bool) *program {
	t.Helper()
	p, err := build(t.Context(), "../..", t.TempDir(), seeded)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The same seed has the same history in another process, also behind others.
func TestSameSeedSameHistory(t *testing.T) {
	p := built(t, true)
	for _, seed := range seeds {
		first := historyOf(t, p, seed)
		if again := historyOf(t, p, seed); !bytes.Equal(first, again) {
			t.Errorf("seed %d has two histories, of %d and %d bytes", seed, len(first), len(again))
		}
		if seed == 0 {
			continue
		}
		file := filepath.Join(t.TempDir(), "history")
		if out, err := p.run(t.Context(), 0, seed+1, "-sim-history="+file); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if behind, err := os.ReadFile(file); err != nil || !bytes.Equal(first, behind) {
			t.Errorf("seed %d has another history behind those before it, of %d and %d bytes (%v)", seed, len(first), len(behind), err)
		}
	}
}

// With Go's own runtime, it has not: so the test above shows something.
func TestUnseededHistoriesDiffer(t *testing.T) {
	p := built(t, false)
	for _, seed := range seeds {
		if !bytes.Equal(historyOf(t, p, seed), historyOf(t, p, seed)) {
			return
		}
	}
	t.Errorf("seeds %v have the same history twice without a seeded runtime", seeds)
}

// A Go that is too different is refused, and not built in some other way.
func TestOtherGoIsRefused(t *testing.T) {
	before := edits
	defer func() { edits = before }()
	edits = []edit{{"runtime/rand.go", "no such line", ""}}
	if _, err := lay(context.Background(), "../..", t.TempDir()); err == nil {
		t.Error("an edit that does not apply is no error")
	}
}
