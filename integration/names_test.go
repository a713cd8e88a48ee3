package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestKilledHolderIsNamed: who waits for a lock whose holder was killed is told who that was, and who
// uses the masters.
func TestKilledHolderIsNamed(t *testing.T) {
	t.Parallel()
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	cfg := redlock.Config{Lease: 20 * time.Second}
	w := f.startWorker(t, buildWorker(ctx, t), "holder", nil, cfg, "wake", "stop")
	w.line(t)
	time.Sleep(time.Second) // its record is on the masters
	if err := w.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	f.log.event("the holder was killed")
	client := f.client(redlock.Config{Lease: cfg.Lease, Name: "waiter"})
	short, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err := client.Lock(short, "orders:42")
	f.log.event("%v", err)
	for _, want := range []string{"held by worker on ", fmt.Sprintf("(pid %d) for ", w.process.Process.Pid)} {
		if !errors.Is(err, redlock.ErrTaken) || !strings.Contains(err.Error(), want) {
			t.Errorf("Lock of what a killed client holds = %v, want ErrTaken and %q", err, want)
		}
	}
	all, err := client.Clients(ctx)
	if err != nil || len(all) != 2 || all[0].Name != "waiter" || all[1].Name != "worker" || all[1].At != 3 {
		t.Errorf("Clients = %+v, %v; want the waiter and the worker", all, err)
	}
	list, err := client.List(ctx, "orders:*", 10)
	if err != nil || len(list.Locks) != 1 || list.Locks[0].Client == nil || list.Locks[0].Client.Name != "worker" {
		t.Errorf("List = %+v, %v; want orders:42 of the worker", list, err)
	}
}

// TestWhoComesSecondOnRealMasters: where a client of {1,2,3} takes locks, one of {3,4,5} takes none and is not
// ready, and both say why.
func TestWhoComesSecondOnRealMasters(t *testing.T) {
	t.Parallel()
	ctx := begin(t, 3*time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	var urls []string
	for _, m := range f.masters {
		urls = append(urls, m.url())
	}
	one := f.client(redlock.Config{Masters: urls[:3], Name: "one"})
	mustUnlock(ctx, t, mustLock(ctx, t, one, "a"))
	time.Sleep(81 * time.Second) // a younger master may be one of the first client's that restarted
	two := f.client(redlock.Config{Masters: urls[2:], Name: "two"})
	_, err := two.Lock(ctx, "a")
	for what, err := range map[string]error{"Lock": err, "Ready": two.Ready(ctx)} {
		if !errors.Is(err, redlock.ErrOverlap) || !strings.Contains(err.Error(), "one on ") {
			t.Errorf("%s of the second = %v, want ErrOverlap with the name of the first", what, err)
		}
	}
	eventually(ctx, t, 30*time.Second, "the first is told", func() error {
		if err := one.Conflict(); !errors.Is(err, redlock.ErrOverlap) || !strings.Contains(err.Error(), "two on ") {
			return fmt.Errorf("Conflict of the first = %w, want ErrOverlap with the name of the second", err)
		}
		return nil
	})
	if err := one.Ready(ctx); err != nil {
		t.Errorf("Ready of the first = %v", err)
	}
	mustUnlock(ctx, t, mustLock(ctx, t, one, "goes on"))
}
