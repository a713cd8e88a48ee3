package integration

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/redlock"
)

// TestRestartGuard: masters that have just started grant nothing and say for how long, and grant again when
// the longest lease must have ended: nobody gets what they have forgotten before.
func TestRestartGuard(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	const lease, guard = 2 * time.Second, 5 * time.Second // three containers start faster than the guard passes
	cfg := redlock.Config{Lease: lease, MaxLease: guard, RestartGuard: guard}
	client, second := f.client(cfg), f.client(cfg)

	hold, err := client.TryLock(ctx, "orders:42")
	if !errors.Is(err, redlock.ErrNoQuorum) || !regexp.MustCompile(`\d(m|s|ms)\b`).MatchString(err.Error()) {
		t.Fatalf("TryLock on fresh masters = %v, %v, want ErrNoQuorum, and for how long", hold, err)
	}
	for _, m := range f.masters {
		if !strings.Contains(err.Error(), m.Addr()) {
			t.Errorf("error %q does not name %s", err, m.Addr())
		}
	}
	f.wantFree(ctx, t, "orders:42")
	start := time.Now()
	hold = mustLock(ctx, t, client, "orders:42")
	if waited := time.Since(start); waited > guard+5*time.Second {
		t.Errorf("Lock over the guard took %v, want about %v", waited, guard)
	}
	eventually(ctx, t, guard, "all three masters have it", func() error { return f.has(hold, 1) })

	// One of the three masters restarts: it grants nothing again, but the other two do.
	did(t, f.masters[0].Kill(ctx))
	did(t, f.masters[0].Start(ctx))
	did(t, live(hold, lease/2))
	mustUnlock(ctx, t, hold)
	other := mustLock(ctx, t, client, "orders:43")
	if there := f.masters[0].do(t, "EXISTS", "orders:43"); there != int64(0) {
		t.Error("a guarded master has granted the lock")
	}
	inspection, err := client.Inspect(ctx, "orders:43")
	if err != nil || inspection.Masters[0].Guard <= 0 {
		t.Errorf("Inspect = %+v, %v, want the guard of %s", inspection, err, f.masters[0].Name())
	}
	mustUnlock(ctx, t, other)

	// All restart.
	fixed, err := client.LockFor(ctx, "orders:44", guard)
	did(t, err)
	until := fixed.Until()
	f.restart(ctx, t)
	next := mustLock(ctx, t, second, "orders:44")
	if early := time.Until(until); early > 0 || next.Token() <= fixed.Token() {
		t.Errorf("the next has the lock %v before the end of the hold that was forgotten, with token %d after %d", early, next.Token(), fixed.Token())
	}
	mustUnlock(ctx, t, next)
}

// TestRestartInTurn: while a client holds the lock, all masters restart empty, one after another, a
// guard apart. The hold lives on, with its token, and nobody else gets the lock in between.
func TestRestartInTurn(t *testing.T) {
	t.Parallel()
	ctx := begin(t, 2*time.Minute)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	const lease = 2 * time.Second
	cfg := redlock.Config{Lease: lease, RestartGuard: lease}
	client, other := f.client(cfg), f.client(cfg)
	hold := mustLock(ctx, t, client, "orders:42")
	token := hold.Token()
	eventually(ctx, t, 10*time.Second, "all masters have it, even those that were guarded at first", func() error { return f.has(hold, 1) })
	for _, m := range f.masters {
		did(t, m.Kill(ctx))
		did(t, m.Start(ctx))
		eventually(ctx, t, 20*time.Second, m.Name()+" has the hold again", func() error {
			did(t, live(hold, 0))
			if taken, err := other.TryLock(ctx, "orders:42"); !errors.Is(err, redlock.ErrTaken) && !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatalf("TryLock = %v, %v, want ErrTaken", taken, err)
			}
			return f.has(hold, 1)
		})
	}
	if hold.Token() != token {
		t.Errorf("token %d, want %d as before", hold.Token(), token)
	}
	mustUnlock(ctx, t, hold)
	f.wantFree(ctx, t, "orders:42")
}

// TestRestartKeepsAll: masters that write each command to their disk, and have the users of deploy, come back
// with a lock that was just taken. With a default user that has no rights they would not.
func TestRestartKeepsAll(t *testing.T) {
	t.Parallel()
	ctx := begin(t, time.Minute)
	set := newSecrets(t).masters(t, 3, durable...)
	f := startFleet(ctx, t, set)
	hold, err := f.client(redlock.Config{}).LockFor(ctx, "orders:42", 30*time.Second) // which nobody renews
	did(t, err)
	eventually(ctx, t, 5*time.Second, "all masters have it", func() error { return f.has(hold, 1) })
	f.restart(ctx, t)
	for _, m := range f.masters {
		m.user, m.password = "locks", set.Password
	}
	if err := f.has(hold, 1); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// durable has redis-server forget nothing.
var durable = []string{"--dir", "/tmp", "--appendonly", "yes", "--appendfsync", "always"}
