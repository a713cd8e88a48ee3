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

// TestOverlapOnRealMasters: clients of {1,2,3} and of {3,4,5} both have a name at once, and both say so
// within 90 s.
func TestOverlapOnRealMasters(t *testing.T) {
	t.Parallel()
	ctx := begin(t, 2*time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	var urls []string
	for _, m := range f.masters {
		urls = append(urls, m.url())
	}
	one := f.client(redlock.Config{Masters: urls[:3], Name: "one"})
	two := f.client(redlock.Config{Masters: urls[2:], Name: "two"})
	start := time.Now()
	for _, side := range []struct {
		client *redlock.Client
		other  string
	}{{one, "two on "}, {two, "one on "}} {
		for {
			err := side.client.Ready(ctx)
			if errors.Is(err, redlock.ErrOverlap) {
				f.log.event("after %v: %v", time.Since(start), err)
				if !strings.Contains(err.Error(), side.other) {
					t.Errorf("Ready = %v, want that it names %s", err, side.other)
				}
				break
			}
			if err != nil || time.Since(start) > 90*time.Second {
				t.Fatalf("Ready after %v = %v, want ErrOverlap within 90 s", time.Since(start), err)
			}
			time.Sleep(500 * time.Millisecond)
		}
	}
	mustUnlock(ctx, t, mustLock(ctx, t, one, "goes on"))
}
