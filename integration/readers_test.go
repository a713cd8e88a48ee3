package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestReadersAndWriters: three processes read and write under one name, on masters that are killed, so
// that they forget everything, and frozen. No writer is beside anybody; the token of a writer is above
// all before it, and that of a reader is not below that of a writer before it.
func TestReadersAndWriters(t *testing.T) {
	holds, harms := 10_000, 8
	if testing.Short() {
		holds, harms = 1_500, 4
	}
	program := buildWorker(t.Context(), t)
	for _, masters := range []int{3, 5} {
		t.Run(fmt.Sprintf("masters=%d", masters), func(t *testing.T) {
			ctx := begin(t, 5*time.Minute)
			random := randomness(t)
			f := startFleet(ctx, t, fleetConfig{Masters: masters})
			j := newJournal(t)
			const lease = 2 * time.Second
			cfg := redlock.Config{Lease: lease, MaxLease: lease, RestartGuard: lease}
			workers := f.startWorkers(t, program, 3, cfg, "share", j.name)
			start, done := time.Now(), 0
			for ; done < harms || j.holds(t) < holds; done++ {
				m := f.masters[random.IntN(masters)]
				m.harm(ctx, t, done, random, 2*lease)
				if done%2 == 0 {
					eventually(ctx, t, 20*time.Second, m.name+" grants holds again", func() error { return m.counts("orders:42") })
				}
				j.wait(ctx, t, 50)
			}
			f.log.event("%d holds in %v, %d harms", j.holds(t), time.Since(start), done)
			f.end(t, workers)
			j.checkShared(t, f.log)
			f.wantFree(ctx, t, f.masters, "orders:42")
		})
	}
}

// checkShared checks the journal of readers and writers.
func (j *journal) checkShared(t *testing.T, log *timeline) {
	t.Helper()
	j.holds(t)
	var (
		writer           string          // who is in alone
		reads            map[string]bool // who is in together
		lastWriter, last int64           // the largest token of a writer, and of all
		count            = make(map[string]int)
		most, wrong      int
	)
	reads = make(map[string]bool)
	n := 0
	for text := range strings.Lines(string(j.text)) {
		n++
		var act, kind, who string
		var token int64
		if _, err := fmt.Sscan(text, &act, &kind, &who, &token); err != nil {
			t.Fatalf("journal:%d: %q: %v", n, text, err)
		}
		fails := func(format string, args ...any) {
			if wrong++; wrong <= 10 {
				t.Errorf("journal:%d: %s: %s", n, strings.TrimSpace(text), fmt.Sprintf(format, args...))
			}
		}
		switch {
		case act == "out" && kind == "writer":
			if writer != who {
				fails("%q was in", writer)
			}
			writer = ""
		case act == "out":
			if !reads[who] {
				fails("it was not in")
			}
			delete(reads, who)
		case writer != "":
			fails("beside the writer %s", writer)
		case kind == "writer":
			if writer = who; len(reads) > 0 {
				fails("beside the readers %v", reads)
			}
			if token <= last {
				fails("its token is not above %d, which was before", last)
			}
			lastWriter = max(lastWriter, token)
		default:
			reads[who] = true
			most = max(most, len(reads))
			if token < lastWriter {
				fails("its token is below %d, that of a writer before", lastWriter)
			}
		}
		if act == "in" {
			last = max(last, token)
			count[kind]++
		}
	}
	log.event("journal: %v, %d readers together", count, most)
	if least := n / 2 / 20; count["writer"] < least || count["reader"] < least || most < 3 {
		t.Errorf("%v, and %d readers together: want at least %d of each, and 3 together, or nothing is shown", count, most, least)
	}
}

// TestDeadReader: a reader that dies keeps a writer waiting for its own lease and no longer, though
// another read with it for a lease that is ten times as long.
func TestDeadReader(t *testing.T) {
	ctx := begin(t, time.Minute)
	program := buildWorker(ctx, t)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	const lease, long = 2 * time.Second, 20 * time.Second
	cfg := redlock.Config{Lease: lease, MaxLease: long, RestartGuard: -1}
	w := f.startWorker(t, program, "reader", nil, cfg, "read")
	if line := w.line(t); line != "reads" {
		t.Fatalf("the worker says %q", line)
	}
	client := f.client(cfg)
	other, err := client.RLockFor(ctx, "orders:42", long)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	var hold *redlock.Hold
	go func() { // ends when Lock returns, at the latest with ctx
		var err error
		hold, err = client.Lock(ctx, "orders:42")
		got <- err
	}()
	if err := f.queued(ctx, queueOf("orders:42"), 1); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := w.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	mustUnlock(ctx, t, other)
	if err := <-got; err != nil {
		t.Fatal(err)
	}
	// It was renewed every third of its lease.
	if took := time.Since(start); took < lease/2 || took > lease+time.Second {
		t.Errorf("the writer waited %v after the reader died, want up to %v: its lease", took, lease)
	}
	mustUnlock(ctx, t, hold)
	f.wantFree(ctx, t, f.masters, "orders:42")
}
