package main

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/judge"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

const lease = time.Second

// newLocker returns a locker with masters in memory.
func newLocker(t *testing.T) (workload.Locker, *redlocktest.Fleet) {
	fleet := redlocktest.Start(t, 3)
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), Lease: lease})
	check.OK(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return workload.Of(client, lease), fleet
}

// TestEnter: the same hold, or another, where the first was lost.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, fleet := newLocker(t)
		ctx := redlock.WithOwner(t.Context())
		holds, _, err := l.Ask(ctx, history.Lock, []string{"a"}, 0, 0)
		check.OK(t, err)
		h := holds[0]
		if _, same, err := h.Enter(ctx, true); !same || err != nil {
			t.Errorf("Enter = %v, %v, want the same hold", same, err)
		}
		for _, m := range fleet.Masters() {
			m.Kill()
			m.Restart()
		}
		<-h.Context().Done()
		again, same, err := h.Enter(ctx, false)
		if same || err != nil {
			t.Fatalf("Enter = %v, %v, want another hold", same, err)
		}
		check.That(t, again.Token() > h.Token(), "its token is %d, not larger than %d", again.Token(), h.Token())
	})
}

// TestQueue: what clients tell of their callers' places lets the judge tell who stood before whom, of far more
// pairs than it wants of a trial. In calm, where the callers of three clients stand in line for some seconds, all are
// served in that order, and nothing else is wrong.
func TestQueue(t *testing.T) {
	const masters, clients = 3, 3
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, masters)
		began := time.Now()
		now := func() time.Duration { return time.Since(began) }
		run := &history.Run{Lease: lease, MaxLease: lease, Guard: -1, NodeTimeout: lease / 10}
		for _, m := range fleet.Masters() {
			m.Delay(500 * time.Microsecond)
			run.Masters = append(run.Masters, m.Name())
		}
		outs := make([]bytes.Buffer, clients)
		var running sync.WaitGroup
		for i := range outs {
			who := fmt.Sprint("c", i+1)
			open := func(cfg workload.Config) (workload.Locker, error) {
				client, err := redlock.New(redlock.Config{
					Pools: fleet.Pools(), Lease: lease, RestartGuard: redlock.GuardOff, Trace: workload.TraceQueue(cfg.Tell),
				})
				return workload.Of(client, lease), err
			}
			in, input := io.Pipe()
			running.Go(func() {
				cfg := workload.Usual(lease)
				cfg.Who, cfg.Seed = who, uint64(i)
				if err := workload.Run(cfg, open, history.NewRecorder(&outs[i], who, now), in); err != nil {
					t.Error(err)
				}
			})
			running.Go(func() {
				_, _ = io.WriteString(input, workload.Calm)
				time.Sleep(10 * time.Second)
				input.Close()
			})
		}
		running.Wait()
		parts := [][]history.Event{{{What: history.RunBegan, Run: run}}}
		for _, m := range run.Masters {
			parts = append(parts, []history.Event{{At: now(), What: history.Audited, Who: m}}) // a lease later, nothing would be left
		}
		for i := range outs {
			events, err := history.Read(&outs[i])
			check.OK(t, err)
			// The threads of this process are real, and a busy machine may have them wait.
			parts = append(parts, slices.DeleteFunc(events, func(e history.Event) bool { return e.What == history.Stall }))
		}
		h, err := history.Merge(parts...)
		check.OK(t, err)
		report, err := judge.Judge(h)
		check.OK(t, err)
		t.Log(report)
		for _, c := range report.Checks {
			if c.Verdict() == judge.Failed {
				t.Errorf("%s: %s", c.Name, c.Details())
			}
			if c.Name == judge.Turns && c.Looked < 160 { // 50 a minute are enough for a trial
				t.Errorf("it judged %d pairs, want 160", c.Looked)
			}
		}
		for _, v := range report.Violations() {
			t.Error(judge.Tell(v))
		}
	})
}
