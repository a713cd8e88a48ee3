package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// schedule is how late this process may be on a busy machine.
const schedule = 100 * time.Millisecond

// TestMajorityKilled: the hold ends no later than its validity and says so, and nobody can take the
// lock.
func TestMajorityKilled(t *testing.T) {
	for _, n := range []int{3, 5} {
		t.Run(fmt.Sprintf("masters=%d", n), func(t *testing.T) {
			ctx := begin(t, time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: n})
			const lease = 2 * time.Second
			a, b := f.client(redlock.Config{Lease: lease}), f.client(redlock.Config{Lease: lease})
			hold := mustLock(ctx, t, a, "orders:42")
			for _, m := range f.masters[:n/2+1] {
				m.kill(ctx, t)
			}
			wantLost(ctx, t, f, hold, lease)
			quick(t, 2*time.Second, "TryLock with a majority dead", func() {
				got, err := b.TryLock(ctx, "orders:42")
				if !errors.Is(err, redlock.ErrNoQuorum) {
					t.Errorf("TryLock with a majority dead = %v, %v, want ErrNoQuorum", got, err)
				}
				wantMajorityError(t, err, f.masters[:n/2+1])
			})
			f.wantFree(ctx, t, f.masters[n/2+1:], "orders:42")
		})
	}
}

// TestMajorityCut: the same when packets are lost silently.
func TestMajorityCut(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3, Wires: true})
	const lease = 2 * time.Second
	client := f.client(redlock.Config{Lease: lease})
	hold := mustLock(ctx, t, client, "orders:42")
	f.masters[0].cut()
	f.masters[2].cut()
	wantLost(ctx, t, f, hold, lease)
	f.masters[0].mend()
	f.masters[2].mend()
	f.wantFree(ctx, t, f.masters, "orders:42")
	hold = mustLock(ctx, t, client, "orders:42")
	mustUnlock(ctx, t, hold)
}

// wantLost watches a hold that can no longer be renewed until it ends.
func wantLost(ctx context.Context, t *testing.T, f *fleet, hold *redlock.Hold, lease time.Duration) {
	t.Helper()
	// A renewal may have been confirmed while the masters were going down: the last Until counts.
	until := hold.Until()
	follow := time.NewTicker(10 * time.Millisecond)
	defer follow.Stop()
	for ended := false; !ended; {
		select {
		case <-hold.Context().Done():
			ended = true
		case <-follow.C:
			until = hold.Until()
		case <-ctx.Done():
			t.Fatalf("the hold did not end: %v", ctx.Err())
		}
	}
	late := time.Since(until)
	f.log.event("the hold's context ended %v after its validity", late)
	if late > schedule {
		t.Errorf("the hold's context ended %v after its validity, want no later than it", late)
	}
	if late < -lease {
		t.Errorf("the hold's context ended %v before its validity", -late)
	}
	if cause := context.Cause(hold.Context()); !errors.Is(cause, redlock.ErrLost) {
		t.Errorf("Cause = %v, want ErrLost", cause)
	}
	if left := hold.Remaining(); left > 0 {
		t.Errorf("Remaining() of a lost hold = %v, want 0 or less", left)
	}
	quick(t, 2*time.Second, "Unlock of a lost hold", func() {
		if err := hold.Unlock(ctx); !errors.Is(err, redlock.ErrLost) {
			t.Errorf("Unlock of a lost hold = %v, want ErrLost", err)
		}
	})
}

// wantMajorityError looks for the address of each of the masters in the error's list.
func wantMajorityError(t *testing.T, err error, masters []*master) {
	t.Helper()
	majority, ok := errors.AsType[*redlock.MajorityError](err)
	if !ok {
		t.Errorf("error %v is %T, want a *MajorityError in it", err, err)
		return
	}
	if majority.Nodes == nil {
		t.Errorf("MajorityError.Nodes is nil")
		return
	}
	for _, m := range masters {
		wantNamed(t, majority.Nodes, m)
	}
}

// TestMajorityPaused: tries fail in bounded time, waiters get the lock after the thaw, and nothing
// that the frozen masters carried out late remains.
func TestMajorityPaused(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	client := f.client(redlock.Config{})
	mustUnlock(ctx, t, mustLock(ctx, t, client, "warm"))
	frozen := f.masters[:3]
	for _, m := range frozen {
		m.pause(t)
	}

	quick(t, 1500*time.Millisecond, "TryLock with three of five frozen", func() {
		hold, err := client.TryLock(ctx, "try")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("TryLock with three of five frozen = %v, %v, want ErrNoQuorum", hold, err)
		}
		wantMajorityError(t, err, frozen)
	})
	quick(t, 400*time.Millisecond, "Lock under a context of 300ms", func() {
		short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		defer cancel()
		hold, err := client.Lock(short, "short")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, redlock.ErrNoQuorum) {
			t.Errorf("Lock under a context of 300ms = %v, %v, want DeadlineExceeded and ErrNoQuorum", hold, err)
		}
	})

	waiter := make(chan *redlock.Hold, 1)
	go func() { // ends when Lock returns, at the latest with ctx
		hold, err := client.Lock(ctx, "wait")
		if err != nil {
			t.Errorf("Lock over the thaw = %v, want a hold", err)
		}
		waiter <- hold
	}()
	select {
	case hold := <-waiter:
		t.Fatalf("Lock with three of five frozen = %v, want to wait", hold)
	case <-time.After(time.Second):
	}
	for _, m := range frozen {
		m.unpause(t)
	}
	thaw := time.Now()
	if hold := <-waiter; hold != nil {
		f.log.event("the waiting Lock had its hold %v after the thaw", time.Since(thaw))
		mustUnlock(ctx, t, hold)
	}
	f.wantFree(ctx, t, f.masters, "try", "short", "wait", "warm")
}

// TestContextEndsAnywhere: whenever a caller's context ends, nothing is left behind, even on a master
// that was frozen meanwhile or whose answers were lost.
func TestContextEndsAnywhere(t *testing.T) {
	ctx := begin(t, time.Minute)
	random := randomness(t)
	f := startFleet(ctx, t, fleetConfig{Masters: 3, Wires: true})
	client := f.client(redlock.Config{})
	mustUnlock(ctx, t, mustLock(ctx, t, client, "warm"))
	const tries = 600
	names := make([]string, tries)
	held := 0
	for i := range tries {
		switch i {
		case tries / 6:
			f.masters[1].pause(t)
		case 2 * tries / 6:
			f.masters[1].unpause(t)
		case 3 * tries / 6:
			f.masters[2].cutAnswers()
		case 4 * tries / 6:
			f.masters[2].mend()
		}
		names[i] = fmt.Sprintf("try:%d", i)
		short, cancel := context.WithTimeout(ctx, time.Duration(random.Int64N(int64(2*time.Millisecond))))
		hold, err := client.Lock(short, names[i])
		switch {
		case err == nil:
			held++
			<-short.Done() // Unlock under a context that has ended still releases
			if err := hold.Unlock(short); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Unlock under an ended context = %v, want nil or DeadlineExceeded", err)
			}
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("Lock = %v, want DeadlineExceeded", err)
		}
		cancel()
	}
	f.log.event("%d of %d tries got the lock in time", held, tries)
	f.wantFree(ctx, t, f.masters, names...)
}
