package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// seeds are some of each kind: see regime in package redlock's tests.
var seeds = []uint64{0, 1, 2, 3}

// historyOf runs a seed in a process of its own.
func historyOf(t *testing.T, p *program, seed uint64) []byte {
	t.Helper()
	out, history, err := p.history(t.Context(), seed)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, out)
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

// A seed that goes round and round ends, however slow the machine is; and one that does not says which
// transitions and which branches of scripts it saw.
func TestStepsAndArrowsAreCounted(t *testing.T) {
	p := built(t, true)
	out, err := p.run(t.Context(), 0, 1, "-sim-steps=1000")
	if err == nil || !bytes.Contains(out, []byte("the seed does not end")) {
		t.Errorf("a seed with more than a thousand steps: %v\n%s", err, out)
	}
	done, out, _, err := p.portion(t.Context(), 0, 1)
	if err != nil || len(done) != 1 || done[0].Arrows["idle → asking"] == 0 || done[0].Arrows["valid → released"] == 0 {
		t.Fatalf("seed 0: %+v, %v, want contenders that asked and holds that were given back\n%s", done, err, out)
	}
	reached := 0
	for _, n := range done[0].Branches {
		if n > 0 {
			reached++
		}
	}
	if all := len(done[0].Branches); reached == 0 || reached == all {
		t.Errorf("seed 0 reaches %d of %d branches of the scripts, want some", reached, all)
	}
}

// A run with the state of another one goes on behind it.
func TestStateGoesOn(t *testing.T) {
	o := options{first: 17, state: filepath.Join(t.TempDir(), "seed")}
	if err := o.resume(); err != nil || o.first != 17 {
		t.Errorf("without a file, it begins at %d, %v, want 17", o.first, err)
	}
	if err := o.leave(1234); err != nil {
		t.Fatal(err)
	}
	if err := o.resume(); err != nil || o.first != 1234 {
		t.Errorf("it goes on at %d, %v, want 1234", o.first, err)
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
