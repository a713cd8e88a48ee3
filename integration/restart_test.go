package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// TestRestartInTurn: while a client holds the lock, all masters restart empty, one after another, a
// guard apart. The hold lives on, with its token, and nobody else gets the lock in between.
func TestRestartInTurn(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	const lease = 20 * time.Second // far longer than a busy machine stands still
	cfg := redlock.Config{Lease: lease, RestartGuard: lease}
	client, other := f.client(cfg), f.client(cfg)
	hold := mustLock(ctx, t, client, "orders:42")
	token := hold.Token()
	eventually(ctx, t, "all masters have it, even those that were guarded at first", func() error { return f.has(hold) })
	for _, m := range f.masters {
		check.OK(t, m.Kill())
		check.OK(t, m.Start())
		eventually(ctx, t, m.Name()+" has the hold again", func() error {
			check.OK(t, context.Cause(hold.Context()))
			if taken, err := other.TryLock(ctx, "orders:42"); !errors.Is(err, redlock.ErrTaken) && !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatalf("TryLock = %v, %v, want ErrTaken", taken, err)
			}
			return f.has(hold)
		})
	}
	check.That(t, hold.Token() == token, "token %d, want %d as before", hold.Token(), token)
	mustUnlock(ctx, t, hold)
	f.wantFree(ctx, t, "orders:42")
}

// TestRestartKeepsAll: masters that write each command to their disk, and have the users of deploy, come back
// with a lock that was just taken. With a default user that has no rights they would not.
func TestRestartKeepsAll(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	s := newSecrets(t)
	set := s.masters(t, durable...)
	f := startFleet(ctx, t, set)
	hold, err := f.client(redlock.Config{MaxLease: time.Hour}).Lock(ctx, "orders:42", redlock.Lease(time.Hour)) // which nobody renews
	check.OK(t, err)
	for _, m := range f.masters {
		m.user, m.password = "operator", string(s.file(t, "operator-password")) // the locks' user may not look
	}
	eventually(ctx, t, "all masters have it", func() error { return f.has(hold) })
	f.restart(t)
	if err := f.has(hold); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// durable has redis-server forget nothing.
var durable = []string{"--dir", "/tmp", "--appendonly", "yes", "--appendfsync", "always"}
