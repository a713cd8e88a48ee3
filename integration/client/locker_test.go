package main

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

const lease = time.Second

// newLocker returns a locker with masters in memory.
func newLocker(t *testing.T) (*locker, *redlocktest.Fleet) {
	fleet := redlocktest.Start(t, 3)
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), Lease: lease})
	check.OK(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return &locker{Client: client, lease: lease}, fleet
}

// TestEnter: the same hold, or another, where the first was lost.
func TestEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, fleet := newLocker(t)
		ctx := l.WithOwner(t.Context())
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
		if again.Token() <= h.Token() {
			t.Errorf("its token is %d, not larger than %d", again.Token(), h.Token())
		}
	})
}
