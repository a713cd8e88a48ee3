package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/integration/skew"
	"example.com/redlock/redlock"
)

// skews are the contenders, and how far each one's clock is off.
var skews = map[string]time.Duration{"behind": -time.Hour, "right": 0, "ahead": +time.Hour}

// TestTokensOfSkewedClients: three processes whose clocks are hours apart hold one name 100,000 times
// (10,000 with -short), on masters that restart empty: one after another, a guard apart, and then all
// at once, while clients wait and also when no client is left that could remember a token. There is
// one holder at a time, and each has a larger token than the one before.
func TestTokensOfSkewedClients(t *testing.T) {
	inTurn, after := 90_000, 5_000 // holds while masters restart in turn, and after each restart of all
	if testing.Short() {
		inTurn, after = 8_000, 1_000
	}
	ctx := begin(t, 6*time.Minute)
	overlay, err := skew.Overlay(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	program := buildWorker(ctx, t, "-overlay", overlay)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	j := newJournal(t)
	workers := f.contend(t, program, j, "ahead", "right", "behind")

	start, restarts := time.Now(), 0
	for ; j.holds(t) < inTurn || restarts < 2*len(f.masters); restarts++ {
		m := f.masters[restarts%len(f.masters)]
		m.kill(ctx, t)
		m.start(ctx, t)
		eventually(ctx, t, 20*time.Second, m.name+" grants holds again", func() error { return m.counts("orders:42") })
	}
	f.log.event("%d holds in %v, %d restarts in turn", j.holds(t), time.Since(start), restarts)
	f.forget(ctx, t)
	j.wait(ctx, t, after)

	f.end(t, workers)
	f.forget(ctx, t)
	workers = f.contend(t, program, j, "behind", "right")
	j.wait(ctx, t, after)
	f.end(t, workers)
	f.log.event("%d holds in %v", j.holds(t), time.Since(start))
	found := j.check(t, f.log, 1)
	for who := range skews {
		if least := j.holds(t) / 20; found.turns[who] < least {
			t.Errorf("%s had %d holds, want at least %d, or nothing is shown about its clock", who, found.turns[who], least)
		}
	}
	f.wantFree(ctx, t, f.masters, "orders:42")
}

// contend starts workers that compete for the lock, and checks that their clocks are off.
func (f *fleet) contend(t *testing.T, program string, j *journal, whos ...string) (workers []*worker) {
	t.Helper()
	const lease = time.Second
	cfg := redlock.Config{Lease: lease, MaxLease: lease, RestartGuard: lease}
	for _, who := range whos {
		off := skews[who]
		first := time.Now().Add(off).UnixMicro()
		w := f.startWorker(t, program, who, []string{skew.Env(off)}, cfg, "contend", j.name, who)
		var shown int64
		if _, err := fmt.Sscanf(w.line(t), "clock %d", &shown); err != nil {
			t.Fatal(err)
		}
		if last := time.Now().Add(off).UnixMicro(); shown < first || shown > last {
			t.Fatalf("the clock of %s shows %d, want %d to %d, which is off by %v", who, shown, first, last, off)
		}
		workers = append(workers, w)
	}
	return workers
}

// end ends the workers and logs what they found.
func (f *fleet) end(t *testing.T, workers []*worker) {
	t.Helper()
	for _, w := range workers {
		f.log.event("worker %s: %s", w.who, w.end(t))
	}
}

// forget restarts all masters at once.
func (f *fleet) forget(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, m := range f.masters {
		m.kill(ctx, t)
	}
	for _, m := range f.masters {
		m.start(ctx, t)
	}
}

// counts returns nil if the master has a fencing counter for name.
func (m *master) counts(name string) error {
	there, err := redis.Bool(m.try("EXISTS", "redlock_fence:{"+name+"}"))
	if err == nil && !there {
		err = errors.New("it has no fencing counter")
	}
	return err
}
