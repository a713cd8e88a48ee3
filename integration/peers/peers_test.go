package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlocktest"
)

func TestMain(m *testing.M) {
	logging.Disable()
	m.Run()
}

const lease = 2 * time.Second

// start opens a library on masters in memory.
func start(t *testing.T, name string) (workload.Locker, *redlocktest.Fleet) {
	t.Helper()
	fleet := redlocktest.Start(t, 3)
	cfg := workload.Config{Locker: name, Lease: lease, NodeTimeout: lease / 10, Callers: 4}
	for _, url := range fleet.URLs() {
		cfg.Masters = append(cfg.Masters, strings.TrimPrefix(url, "redis://"))
	}
	l, err := open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return l, fleet
}

func each(t *testing.T, test func(t *testing.T, l workload.Locker, fleet *redlocktest.Fleet)) {
	for _, name := range []string{"redsync", "redsync-ff", "single"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, fleet := start(t, name)
			test(t, l, fleet)
		})
	}
}

// mustLock locks the name a, which is free.
func mustLock(t *testing.T, l workload.Locker) workload.Hold {
	t.Helper()
	h, err := l.Lock(t.Context(), "a")
	if err != nil {
		t.Fatalf("Lock(a) = %v", err)
	}
	return h
}

func wantKind(t *testing.T, call string, err error, want history.Failure) {
	t.Helper()
	if err == nil || classify(err) != want {
		t.Errorf("%s = %v (%s), want %s", call, err, classify(err), want)
	}
}

func TestLockAndUnlock(t *testing.T) {
	each(t, func(t *testing.T, l workload.Locker, _ *redlocktest.Fleet) {
		ctx := t.Context()
		began := time.Now()
		h := mustLock(t, l)
		if left := h.Until().Sub(began); left < lease*9/10 || left > lease+lease/10 {
			t.Errorf("the hold is valid for %v, want about %v", left, lease)
		}
		if h.Name() != "a" || h.Slot() != 0 || h.Token() != 0 || h.Context() != nil {
			t.Errorf("the hold has name %q, slot %d, token %d, context %v", h.Name(), h.Slot(), h.Token(), h.Context())
		}
		_, err := l.TryLock(ctx, "a")
		wantKind(t, "TryLock(a)", err, history.Taken)
		waits, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		_, err = l.Lock(waits, "a")
		wantKind(t, "Lock(a) until its context ended", err, history.Ended)
		b, err := l.TryLock(ctx, "b")
		if err != nil {
			t.Errorf("TryLock(b) = %v", err)
		} else if err := b.Unlock(ctx); err != nil {
			t.Errorf("Unlock of b = %v", err)
		}

		before := h.Until()
		time.Sleep(50 * time.Millisecond)
		if err := h.Extend(ctx); err != nil || !h.Until().After(before) {
			t.Errorf("Extend() = %v, and %v is added", err, h.Until().Sub(before))
		}
		if err := h.Unlock(ctx); err != nil {
			t.Errorf("Unlock() = %v", err)
		}
		wantKind(t, "Unlock() again", h.Unlock(ctx), history.NoLock)
		wantKind(t, "Extend() after Unlock", h.Extend(ctx), history.NoLock)
	})
}

// TestWaiterIsServed: who waits without a deadline has the lock once it is free, though that takes longer
// than a lease.
func TestWaiterIsServed(t *testing.T) {
	each(t, func(t *testing.T, l workload.Locker, _ *redlocktest.Fleet) {
		ctx := t.Context()
		h := mustLock(t, l)
		got := make(chan error, 1)
		go func() {
			again, err := l.Lock(ctx, "a")
			if err == nil {
				err = again.Unlock(ctx)
			}
			got <- err
		}()
		every := l.(workload.Unattended).ExtendEvery()
		for end := time.Now().Add(lease * 3 / 2); time.Now().Before(end); time.Sleep(every) {
			if err := h.Extend(ctx); err != nil {
				t.Errorf("Extend() = %v", err)
			}
		}
		select {
		case err := <-got:
			t.Errorf("the waiter returned %v while the lock was held", err)
		default:
		}
		if err := h.Unlock(ctx); err != nil {
			t.Errorf("Unlock() = %v", err)
		}
		if err := <-got; err != nil {
			t.Errorf("the waiter's Lock and Unlock = %v", err)
		}
	})
}

func TestMastersAreDead(t *testing.T) {
	each(t, func(t *testing.T, l workload.Locker, fleet *redlocktest.Fleet) {
		h := mustLock(t, l)
		fleet.Master(0).Kill()
		fleet.Master(1).Kill()
		_, err := l.TryLock(t.Context(), "b")
		wantKind(t, "TryLock(b)", err, history.NoQuorum)
		wantKind(t, "Extend()", h.Extend(t.Context()), history.NoQuorum)
		wantKind(t, "Unlock()", h.Unlock(t.Context()), history.NoQuorum)
	})
}

// TestUnlockAfterItsContext: the lock is free though the context of Unlock had ended.
func TestUnlockAfterItsContext(t *testing.T) {
	each(t, func(t *testing.T, l workload.Locker, _ *redlocktest.Fleet) {
		h := mustLock(t, l)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		wait, cancel := context.WithTimeout(t.Context(), lease/2)
		defer cancel()
		if err := h.Unlock(ended); err != nil {
			wantKind(t, "Unlock()", err, history.Ended)
		}
		if again, err := l.Lock(wait, "a"); err != nil {
			t.Errorf("Lock(a) within half a lease = %v", err)
		} else if err := again.Unlock(t.Context()); err != nil {
			t.Errorf("Unlock() = %v", err)
		}
	})
}

func TestNoSuchLibrary(t *testing.T) {
	if _, err := open(workload.Config{Locker: "mutex"}); err == nil {
		t.Error("open of a library that is not there = nil")
	}
	if as := classify(errors.New("of another kind")); as != history.Unknown {
		t.Errorf("classify = %s, want %s", as, history.Unknown)
	}
}
