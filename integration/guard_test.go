package integration

import (
	"errors"
	"fmt"
	"regexp"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// aDuration matches the time that the guard still lasts, as the error gives it.
var aDuration = regexp.MustCompile(`\d(m|s|ms)\b`)

// TestRestartGuard: masters that have just started grant nothing and say for how long, and grant
// again when the longest lease must have ended.
func TestRestartGuard(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	const lease, guard = 2 * time.Second, 4 * time.Second // three containers start faster than the guard passes
	client := f.client(redlock.Config{Lease: lease, RestartGuard: guard})

	hold, err := client.TryLock(ctx, "orders:42")
	if !errors.Is(err, redlock.ErrNoQuorum) {
		t.Fatalf("TryLock on fresh masters = %v, %v, want ErrNoQuorum", hold, err)
	}
	for _, m := range f.masters {
		wantNamed(t, err, m)
	}
	if !aDuration.MatchString(err.Error()) {
		t.Errorf("error %q does not say how long", err)
	}
	f.log.event("TryLock = %v", err)
	f.wantFree(ctx, t, f.masters, "orders:42")

	start := time.Now()
	hold = mustLock(ctx, t, client, "orders:42")
	f.log.event("Lock waited %v for the guard", time.Since(start))
	if waited := time.Since(start); waited > guard+5*time.Second {
		t.Errorf("Lock over the guard took %v, want about %v", waited, guard)
	}

	mustUnlock(ctx, t, hold)
	eventually(ctx, t, guard, "no guard is left", func() error {
		inspection, err := client.Inspect(ctx, "orders:42")
		for _, state := range inspection.Masters {
			if state.Guard > 0 {
				err = errors.Join(err, fmt.Errorf("%s grants nothing for %v", state.Master, state.Guard))
			}
		}
		return err
	})

	// One of the three masters restarts: it grants nothing again, but the other two do.
	hold = mustLock(ctx, t, client, "orders:42")
	eventually(ctx, t, time.Second, "all three masters have granted", func() error { return f.hash(hold, "orders:42", 1) })
	f.masters[0].kill(ctx, t)
	f.masters[0].start(ctx, t)
	watch(ctx, t, lease/2, func() error { return live(hold) })
	mustUnlock(ctx, t, hold)
	other := mustLock(ctx, t, client, "orders:43")
	if left, err := f.masters[0].leftovers([]string{"orders:43"}); err != nil || len(left) > 0 {
		t.Errorf("a guarded master has %q, %v, want nothing granted", left, err)
	}
	inspection, err := client.Inspect(ctx, "orders:43")
	if err != nil || inspection.Masters[0].Guard <= 0 {
		t.Errorf("Inspect = %+v, %v, want the guard of %s", inspection, err, f.masters[0].name)
	}
	mustUnlock(ctx, t, other)
	f.wantFree(ctx, t, f.masters, "orders:42", "orders:43")
}
