package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redlock/internal/deterministic"
	"example.com/redlock/multilock/protocol"
)

// portions is how many seeds a process runs.
const portions = 250

// total is what became of all seeds so far.
type total struct {
	program *program
	begun   time.Time

	mu                   sync.Mutex
	seeds                int
	deterministic.Report // of all together
	failed               []uint64
	err                  error
}

// scale runs seeds in several processes and prints what became of them.
//
// Goroutines: one for each worker, which end when there are no more seeds, and one that prints how far they
// are. scale waits for all.
func (p *program) scale(ctx context.Context, o options) error {
	t := &total{program: p, begun: time.Now()}
	t.Faults, t.Arrows, t.Branches = make(map[string]int), make(map[string]int), make(map[string]int)
	for _, a := range protocol.Arrows {
		t.Arrows[deterministic.Arrow(a.From, a.To)] = 0
	}
	for _, a := range protocol.HoldArrows {
		t.Arrows[deterministic.Arrow(a.From, a.To)] = 0
	}
	next := make(chan uint64)
	var workers, printer sync.WaitGroup
	for range o.workers {
		workers.Go(func() {
			for first := range next {
				t.portion(ctx, first, min(portions, o.first+o.seeds-first))
			}
		})
	}
	done := make(chan struct{})
	printer.Go(func() {
		every := time.NewTicker(30 * time.Second)
		defer every.Stop()
		for {
			select {
			case <-every.C:
				fmt.Println(t.line())
			case <-done:
				return
			}
		}
	})
	first := o.first
	for ; first < o.first+o.seeds && ctx.Err() == nil; first += portions {
		if o.limit > 0 && time.Since(t.begun) > o.limit {
			break
		}
		next <- first
	}
	close(next)
	workers.Wait()
	close(done)
	printer.Wait()
	fmt.Println(t.line())
	fmt.Println("faults:", list(t.Faults))
	fmt.Println("arrows:", list(t.Arrows))
	all := len(t.Branches)
	maps.DeleteFunc(t.Branches, func(_ string, n int) bool { return n > 0 })
	fmt.Printf("branches of scripts: %d; not reached are %d: %s\n", all, len(t.Branches), strings.Join(slices.Sorted(maps.Keys(t.Branches)), ", "))
	if err := cmp.Or(t.err, ctx.Err()); err != nil {
		return err
	}
	if err := o.leave(min(first, o.first+o.seeds)); err != nil {
		return err
	}
	if n := len(t.failed); n > 0 {
		return fmt.Errorf("%d seeds failed: %v", n, t.failed)
	}
	return nil
}

// portion runs seeds in one process, and in another one those after a seed that ended it.
func (t *total) portion(ctx context.Context, first, seeds uint64) {
	for seeds > 0 {
		done, out, crashed, err := t.program.portion(ctx, first, seeds)
		failed := t.add(done, err)
		if crashed {
			seed := first + uint64(len(done))
			failed = append(failed, seed)
			t.add([]deterministic.Report{{Seed: seed, Failed: true}}, nil)
			done = append(done, deterministic.Report{})
		}
		if len(failed) > 0 {
			fmt.Printf("%s\n", out)
		}
		for _, seed := range failed {
			_, one, _ := t.program.history(ctx, seed)
			_, two, _ := t.program.history(ctx, seed)
			same := one != nil && bytes.Equal(one, two)
			fmt.Printf("FAILED: go run ./verify/simulation -seed %d -history seed%d.jsonl (the same history twice: %v)\n", seed, seed, same)
		}
		if err != nil || !crashed {
			return
		}
		first, seeds = first+uint64(len(done)), seeds-uint64(len(done))
	}
}

// add adds seeds, and returns those that failed.
func (t *total) add(done []deterministic.Report, err error) (failed []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	for _, r := range done {
		t.seeds++
		t.Holds += r.Holds
		t.Violations += r.Violations
		t.Unpromised += r.Unpromised
		count(t.Faults, r.Faults)
		count(t.Arrows, r.Arrows)
		count(t.Branches, r.Branches)
		if r.Failed {
			failed = append(failed, r.Seed)
		}
	}
	t.failed = append(t.failed, failed...)
	return failed
}

func count(all, more map[string]int) {
	for name, n := range more {
		all[name] += n
	}
}

// line says how far it is.
func (t *total) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, of := range t.Faults {
		n += of
	}
	took := time.Since(t.begun)
	return fmt.Sprintf("%v: %d seeds, %.1f a second, %d holds, %d faults of %d kinds, %d violations, %d of what nobody promised, %d seeds failed",
		took.Round(time.Second), t.seeds, float64(t.seeds)/took.Seconds(), t.Holds, n, len(t.Faults), t.Violations, t.Unpromised, len(t.failed))
}

// list lists counts, the rarest first.
func list(counts map[string]int) string {
	var all []string
	for _, name := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[a]-counts[b], strings.Compare(a, b))
	}) {
		all = append(all, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(all, ", ")
}
