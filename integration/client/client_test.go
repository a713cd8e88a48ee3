package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/failure"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

var seeds = flag.Uint64("seeds", 3, "how many seeds TestInMemory runs")

// Two client programs lock masters in memory, which die, freeze and are cut off. What they record is a
// history that keeps all promises, and has no error that is not documented; together, they do all that
// there is to do. Each is then left without goroutines.
//
// Replay one seed: go test ./integration/client -run 'TestInMemory/seed=3$' -v. The seed settles the faults
// and what callers draw, not the order of goroutines.
func TestInMemory(t *testing.T) {
	var mu sync.Mutex
	done := map[history.Do]int{}
	for seed := range portion(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := inMemory(t, seed)
				check(t, h)
				mu.Lock()
				defer mu.Unlock()
				for _, e := range h.Events {
					if e.What == history.Returned && e.Err == "" {
						done[e.Do]++
					}
				}
			})
		})
	}
	if t.Failed() {
		return
	}
	for _, do := range []history.Do{
		history.Lock, history.TryLock, history.LockFor, history.RLock, history.TryRLock, history.LockAll,
		history.Acquire, history.TryAcquire, history.Enter, history.Leave, history.Extend, history.Downgrade,
		history.Unlock, history.CloseClient,
	} {
		if done[do] == 0 {
			t.Errorf("no %s was carried out", do)
		}
	}
	t.Logf("carried out: %v", done)
}

// portion is how many of the seeds a short test runs.
func portion(all uint64) uint64 {
	if testing.Short() {
		return (all + 2) / 3
	}
	return all
}

// check fails the test if the history does not keep a promise.
func check(t *testing.T, h *history.History) {
	t.Helper()
	report, err := judge.Judge(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Violations() {
		t.Errorf("%s at %v: %s", v.Check, v.At, v.Text)
	}
	for _, e := range h.Events {
		switch {
		case e.Err == history.Unknown:
			t.Errorf("%s at %v: %s %s of call %d: %s", e.Who, e.At, e.What, e.Do, e.Call, e.Text)
		case e.What == history.Granted && (e.Until < e.At || e.Until > e.At+2*lease):
			t.Errorf("%s at %v: hold %d is valid until %v", e.Who, e.At, e.Hold, e.Until)
		}
	}
}

const lease = time.Second

// inMemory runs the programs for some time under faults, and then for some without any.
func inMemory(t *testing.T, seed uint64) *history.History {
	fleet := redlocktest.Start(t, 3)
	start := time.Now()
	now := func() time.Duration { return time.Since(start) + 1 }
	var wg sync.WaitGroup
	var outs []*bytes.Buffer
	var inputs []io.Closer
	who := func(rec string) (*history.Recorder, *bytes.Buffer) {
		out := new(bytes.Buffer)
		outs = append(outs, out)
		return history.NewRecorder(out, rec, now), out
	}
	rec, _ := who("")
	rec.Add(history.Event{What: history.RunBegan, Run: &history.Run{
		Seed: seed, Locker: "redlock", Lease: lease, MaxLease: 2 * lease, Guard: 2 * lease, Tokens: true, Signal: true,
		NodeTimeout: 100 * time.Millisecond, Masters: []string{"m1", "m2", "m3"},
	}})
	for i := range 2 {
		cfg := workload.Config{
			Who: fmt.Sprint("c", i+1), Seed: seed, Lease: lease, MaxLease: 2 * lease,
			Callers: 3, Think: 150 * time.Millisecond,
		}
		connect := func(workload.Config) (workload.Locker, error) {
			client, err := redlock.New(redlock.Config{
				Pools: fleet.Pools(), Lease: lease, MaxLease: 2 * lease, NodeTimeout: 100 * time.Millisecond,
			})
			return &locker{client, lease}, err
		}
		mine, _ := who(cfg.Who)
		rec.Add(history.Event{What: history.Started, Who: cfg.Who})
		in, input := io.Pipe()
		inputs = append(inputs, input)
		wg.Go(func() {
			if err := workload.Run(cfg, connect, failure.Of, mine, in); err != nil {
				t.Error(err)
			}
		})
	}
	harm(rand.New(rand.NewPCG(seed, 0)), fleet, rec)
	rec.Add(history.Event{What: history.Over})
	time.Sleep(5 * time.Second)
	for _, input := range inputs {
		input.Close()
	}
	wg.Wait()
	for _, m := range fleet.Masters() {
		rec.Add(history.Event{What: history.Audited, Who: m.Name(), Left: left(m)})
	}
	var parts [][]history.Event
	for _, out := range outs {
		part, err := history.Read(out)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	h, err := history.Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// left returns the keys that are left on a master, but for those that outlive all holds and waits: fencing
// counters, the clients' records, and the sets of masters in use.
func left(m *redlocktest.Master) []string {
	return slices.DeleteFunc(m.Keys(), func(key string) bool {
		return slices.ContainsFunc([]string{"redlock_fence:", "redlock_slotfence:", "redlock_client:", "redlock_sets"}, func(prefix string) bool {
			return strings.HasPrefix(key, prefix)
		})
	})
}

// harm does something to a master now and then, and mends all of it in the end.
func harm(r *rand.Rand, fleet *redlocktest.Fleet, rec *history.Recorder) {
	for id := 1; id <= 12; id++ {
		time.Sleep(time.Duration(r.Int64N(int64(2 * time.Second))))
		m := fleet.Master(r.IntN(3))
		fault := []struct {
			kind        string
			begin, mend func()
		}{
			{"kill-empty", m.Kill, m.Restart},
			{"pause", m.Freeze, m.Thaw},
			{"cut", m.Cut, m.Mend},
			{"slow", func() { m.Delay(30 * time.Millisecond) }, func() { m.Delay(0) }},
		}[r.IntN(4)]
		rec.Add(history.Event{What: history.Fault, Fault: fault.kind, ID: id, On: []string{m.Name()}})
		fault.begin()
		time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
		fault.mend()
		rec.Add(history.Event{What: history.Mended, Fault: fault.kind, ID: id})
	}
}
