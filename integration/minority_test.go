package integration

import (
	"fmt"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestMinorityKilled: the hold lives on and is renewed, other clients are refused, and the lock
// changes hands as if nothing had happened.
func TestMinorityKilled(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprintf("masters=%d", n), func(t *testing.T) {
			ctx := begin(t, time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: n})
			const lease = 2 * time.Second
			a, b := f.client(redlock.Config{Lease: lease}), f.client(redlock.Config{Lease: lease})
			hold := mustLock(ctx, t, a, "orders:42")
			for _, m := range f.masters[:n/2] {
				m.kill(ctx, t)
			}
			first := hold.Until()
			watch(ctx, t, 2*lease, func() error { return live(hold) })
			if got := hold.Until().Sub(first); got < lease {
				t.Errorf("Until() moved by %v in %v, want at least %v: renewals went on", got, 2*lease, lease)
			}
			quick(t, time.Second, "TryLock with a minority dead", func() { wantTaken(ctx, t, b, "orders:42") })
			quick(t, time.Second, "Unlock with a minority dead", func() { mustUnlock(ctx, t, hold) })
			quick(t, time.Second, "Lock with a minority dead", func() { hold = mustLock(ctx, t, b, "orders:42") })
			mustUnlock(ctx, t, hold)
			f.wantFree(ctx, t, f.masters[n/2:], "orders:42")
		})
	}
}

// TestMinorityPaused: nobody waits for the frozen masters, and what they carry out after the thaw is
// undone.
func TestMinorityPaused(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	client := f.client(redlock.Config{})
	measure := func(prefix string) (names []string, took []time.Duration) {
		for i := range 100 {
			name := fmt.Sprintf("%s:%d", prefix, i)
			start := time.Now()
			mustUnlock(ctx, t, mustLock(ctx, t, client, name))
			names, took = append(names, name), append(took, time.Since(start))
		}
		return names, took
	}
	measure("warm")
	_, healthy := measure("healthy")
	frozen := f.masters[1:3]
	for _, m := range frozen {
		m.pause(t)
	}
	names, hurt := measure("frozen")
	for _, m := range frozen {
		m.unpause(t)
	}
	f.log.event("median of Lock and Unlock: healthy %v, two of five frozen %v", median(healthy), median(hurt))
	// On a busy machine, a median varies by a fifth of a millisecond from one moment to the next.
	if got, most := median(hurt), median(healthy)*3/2+200*time.Microsecond; got > most {
		t.Errorf("median with two of five frozen = %v, want at most %v", got, most)
	}
	f.wantFree(ctx, t, f.masters, names...)
}

// TestMinorityCut: like TestMinorityKilled, but connections are not refused: packets are lost. In the
// second case only answers are lost, so that the master carries out commands that it never confirms.
func TestMinorityCut(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*master){
		"both ways": (*master).cut,
		"answers":   (*master).cutAnswers,
	} {
		t.Run(name, func(t *testing.T) {
			ctx := begin(t, time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: 3, Wires: true})
			const lease = 2 * time.Second
			a, b := f.client(redlock.Config{Lease: lease}), f.client(redlock.Config{Lease: lease})
			hold := mustLock(ctx, t, a, "orders:42")
			cut(f.masters[0])
			watch(ctx, t, 2*lease, func() error { return live(hold) })
			quick(t, time.Second, "TryLock with a minority cut off", func() { wantTaken(ctx, t, b, "orders:42") })
			mustUnlock(ctx, t, hold)
			quick(t, time.Second, "Lock with a minority cut off", func() { hold = mustLock(ctx, t, b, "orders:42") })
			mustUnlock(ctx, t, hold)
			f.masters[0].mend()
			f.wantFree(ctx, t, f.masters, "orders:42")
		})
	}
}

// TestRestart: each master in turn is killed and comes back while the lock is held.
func TestRestart(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second

	// Masters that forget nothing: the hold survives the restart of every one of them.
	t.Run("with data", func(t *testing.T) {
		ctx := begin(t, time.Minute)
		f := startFleet(ctx, t, fleetConfig{Masters: 3, Durable: true})
		a, b := f.client(redlock.Config{Lease: lease}), f.client(redlock.Config{Lease: lease})
		hold := mustLock(ctx, t, a, "orders:42")
		for i, m := range f.masters {
			if i == 1 {
				m.stop(ctx, t)
			} else {
				m.kill(ctx, t)
			}
			m.start(ctx, t)
			watch(ctx, t, lease, func() error { return live(hold) })
			wantTaken(ctx, t, b, "orders:42")
		}
		mustUnlock(ctx, t, hold)
		f.wantFree(ctx, t, f.masters, "orders:42")
		mustUnlock(ctx, t, mustLock(ctx, t, b, "orders:42"))
	})

	// One of three masters forgets everything. The other two still have the holder.
	t.Run("one empty", func(t *testing.T) {
		ctx := begin(t, time.Minute)
		f := startFleet(ctx, t, fleetConfig{Masters: 3})
		a, b := f.client(redlock.Config{Lease: lease}), f.client(redlock.Config{Lease: lease})
		hold := mustLock(ctx, t, a, "orders:42")
		f.masters[0].kill(ctx, t)
		f.masters[0].start(ctx, t)
		watch(ctx, t, lease, func() error { return live(hold) })
		wantTaken(ctx, t, b, "orders:42")
		mustUnlock(ctx, t, hold)
		mustUnlock(ctx, t, mustLock(ctx, t, b, "orders:42"))
		f.wantFree(ctx, t, f.masters, "orders:42")
	})
}
