package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestRestartInTurn: while a client holds the lock, all masters restart empty, one after another, a
// guard apart. The hold lives on, with its token, and nobody else gets the lock in between: neither a
// waiter nor a client that only tries.
func TestRestartInTurn(t *testing.T) {
	t.Parallel()
	ctx := begin(t, 2*time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	const lease = 2 * time.Second
	cfg := redlock.Config{Lease: lease, RestartGuard: lease}
	a, b, c := f.client(cfg), f.client(cfg), f.client(cfg)
	hold := mustLock(ctx, t, a, "orders:42")
	token := hold.Token()
	f.log.event("A has the lock")
	eventually(ctx, t, 10*time.Second, "all masters have the hold, even those that were guarded at first", func() error { return f.hash(hold, "orders:42", 1) })

	waited := make(chan error, 1)
	waiting, giveUp := context.WithCancel(ctx)
	defer giveUp()
	go func() {
		other, err := b.Lock(waiting, "orders:42")
		if err == nil && hold.Context().Err() == nil {
			waited <- fmt.Errorf("B has token %d beside A", other.Token())
			return
		}
		waited <- err
	}()
	for _, m := range f.masters {
		m.kill(ctx, t)
		m.start(ctx, t)
		eventually(ctx, t, 20*time.Second, m.name+" has the hold again", func() error {
			if err := live(hold); err != nil {
				t.Fatal(err)
			}
			if other, err := c.TryLock(ctx, "orders:42"); !errors.Is(err, redlock.ErrTaken) && !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatalf("TryLock = %v, %v, want ErrTaken", other, err)
			}
			held, err := m.try("HGET", "orders:42", hold.Owner())
			if err == nil && held == nil {
				err = errors.New("it has not")
			}
			return err
		})
	}
	if hold.Token() != token {
		t.Errorf("token %d, want %d as before", hold.Token(), token)
	}
	giveUp()
	if err := <-waited; !errors.Is(err, context.Canceled) {
		t.Errorf("B's Lock = %v, want it to have waited until the end", err)
	}
	mustUnlock(ctx, t, hold)
	f.wantFree(ctx, t, f.masters, "orders:42")
}

// TestMajorityRestarts: while a client has a hold with a fixed lease, a majority restarts empty. It
// grants the lock to nobody before that lease is over, and to the next client soon after the guard.
func TestMajorityRestarts(t *testing.T) {
	t.Parallel()
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	const lease = 6 * time.Second
	cfg := redlock.Config{Lease: lease, RestartGuard: lease}
	a, b := f.client(cfg), f.client(cfg)
	first := mustLock(ctx, t, a, "warm") // waits until the guard of the new masters is over
	mustUnlock(ctx, t, first)
	hold, err := a.LockFor(ctx, "orders:42", lease)
	if err != nil {
		t.Fatal(err)
	}
	until := hold.Until()
	for _, m := range f.masters[:2] {
		m.kill(ctx, t)
		m.start(ctx, t)
	}
	restarted := time.Now()
	next := mustLock(ctx, t, b, "orders:42")
	if early := time.Until(until); early > 0 {
		t.Errorf("B has the lock %v before A's validity ends", early)
	}
	if took := time.Since(restarted); took > lease+4*time.Second {
		t.Errorf("B has the lock %v after the restarts, want soon after the guard of %v", took, lease)
	}
	if next.Token() <= hold.Token() {
		t.Errorf("B's token is %d, want one above %d", next.Token(), hold.Token())
	}
	mustUnlock(ctx, t, next)
	f.wantFree(ctx, t, f.masters, "orders:42")
}
