package main

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

const lease = time.Second

// newLocker returns a locker with masters in memory.
func newLocker(t *testing.T) (*locker, *redlocktest.Fleet) {
	fleet := redlocktest.Start(t, 3)
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return &locker{Client: client, lease: lease}, fleet
}

// TestPermitsCountFrom1: a slot of 0 would be a lock.
func TestPermitsCountFrom1(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLocker(t)
		slots := map[int]bool{}
		for range 2 {
			holds, _, err := l.Ask(t.Context(), history.Acquire, []string{"p"}, 0, 2)
			if err != nil {
				t.Fatal(err)
			}
			slots[holds[0].Slot()] = true
		}
		if !slots[1] || !slots[2] {
			t.Errorf("slots are %v, want 1 and 2", slots)
		}
		h, err := l.Lock(t.Context(), "p")
		if err != nil {
			t.Fatal(err)
		}
		if h.Slot() != 0 {
			t.Errorf("the slot of a lock is %d, want 0", h.Slot())
		}
	})
}

// TestEnter: the same hold, or another, where the first was lost.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, fleet := newLocker(t)
		ctx := l.WithOwner(t.Context())
		h, err := l.Lock(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, same, err := h.(workload.Enterer).Enter(ctx, true); !same || err != nil {
			t.Errorf("Enter = %v, %v, want the same hold", same, err)
		}
		for _, m := range fleet.Masters() {
			m.Kill()
			m.Restart()
		}
		<-h.Context().Done()
		again, same, err := h.(workload.Enterer).Enter(ctx, false)
		if same || err != nil {
			t.Fatalf("Enter = %v, %v, want another hold", same, err)
		}
		if again.Token() <= h.Token() {
			t.Errorf("its token is %d, not larger than %d", again.Token(), h.Token())
		}
	})
}
