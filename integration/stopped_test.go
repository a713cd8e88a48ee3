//go:build unix

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// TestStoppedProcess: a process that is stopped for longer than its lease knows within a millisecond
// of waking that it has lost the lock, whatever it does first. It does no harm to the client that has
// the lock by then.
func TestStoppedProcess(t *testing.T) {
	const rounds, most = 5, time.Millisecond
	ctx := begin(t, 3*time.Minute)
	program := buildWorker(ctx, t)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	for _, how := range []string{"context", "remaining", "unlock", "extend"} {
		t.Run(how, func(t *testing.T) {
			var took []time.Duration
			for range rounds {
				took = append(took, f.stopHolder(ctx, t, program, how))
			}
			f.log.event("%s: the loss was known %v after waking", how, took)
			// Another process may have the processor at that moment, but not every time.
			if slices.Min(took) > most || slices.Max(took) > schedule {
				t.Errorf("%s: the loss was known %v after waking, want %v once and never more than %v", how, took, most, schedule)
			}
		})
	}
	f.wantFree(ctx, t, f.masters, "orders:42")
}

// stopHolder stops a process that has the lock until another client has it, then lets it go on and
// use its hold. It returns how long after waking the process knew of its loss.
func (f *fleet) stopHolder(ctx context.Context, t *testing.T, program, how string) time.Duration {
	t.Helper()
	const lease, long = time.Second, 10 * time.Second
	cfg := redlock.Config{Lease: lease, MaxLease: long, RestartGuard: -1}
	other := f.client(cfg)
	w := f.startWorker(t, program, "that "+how+"s", nil, cfg, "wake", how)
	defer w.stdin.Close()
	var owner string
	var token int64
	if _, err := fmt.Sscanf(w.line(t), "held %s %d", &owner, &token); err != nil {
		t.Fatal(err)
	}
	w.signal(t, syscall.SIGSTOP)
	start := time.Now()
	hold, err := other.LockFor(ctx, "orders:42", long) // so that no renewal moves its end
	if err != nil {
		t.Fatalf("LockFor beside a stopped process = %v, want a hold", err)
	}
	f.log.event("%s is stopped, another client has the lock %v later", owner, time.Since(start))
	if hold.Token() <= token {
		t.Errorf("the next holder's token is %d, want more than the %d of the stopped one", hold.Token(), token)
	}
	var before []int64
	eventually(ctx, t, 2*time.Second, "all masters have the next holder's lock for long", func() error {
		last := before
		ends, err := f.ends(hold, long)
		if err != nil {
			return errors.Join(err, hold.Extend(ctx, long)) // sets it where the stopped process's lease ended last
		}
		before = ends
		return moved(f.masters, last, before) // the last master may get the Extend later than the others
	})
	// On a busy machine, part of the lease may have passed before the stop.
	time.Sleep(time.Until(start.Add(lease + 10*time.Millisecond)))
	w.signal(t, syscall.SIGCONT)

	var slept, took time.Duration
	var looks int
	if _, err := fmt.Sscanf(w.line(t), "woke %d %d %d", &slept, &took, &looks); err != nil {
		t.Fatal(err)
	}
	if err := w.process.Wait(); err != nil {
		t.Errorf("the process that woke: %v", err)
	}
	f.log.event("%s was stopped for %v, and knew of its loss %v after waking, at look %d", owner, slept, took, looks)
	if slept < lease {
		t.Errorf("the process was stopped for %v, want more than its lease of %v", slept, lease)
	}
	watch(ctx, t, 200*time.Millisecond, func() error {
		if err := live(hold); err != nil {
			return err
		}
		after, err := f.ends(hold, long)
		if err != nil {
			return err
		}
		return moved(f.masters, before, after)
	})
	mustUnlock(ctx, t, hold)
	f.close(other)
	return took
}

// moved returns nil if the ends of a lock at the masters are the same before and after.
func moved(masters []*master, before, after []int64) error {
	if len(before) != len(after) {
		return errors.New("nothing to compare with")
	}
	for i := range after {
		if by := after[i] - before[i]; by < -1 || by > 1 { // the rounding of ms
			return fmt.Errorf("%s: the end of the next holder's lock has moved by %d ms", masters[i].name, by)
		}
	}
	return nil
}

func (w *worker) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := w.process.Process.Signal(signal); err != nil {
		t.Fatalf("%v to worker %s: %v", signal, w.who, err)
	}
}

// endOf returns when a key expires, by its master's clock in ms.
var endOf = redis.NewScript(1, `
local t = redis.call('time')
return t[1] * 1000 + math.floor(t[2] / 1000) + redis.call('pttl', KEYS[1])`)

// ends returns when the lock expires on each master. It returns an error unless all of them have it
// with a count of one, for about lease.
func (f *fleet) ends(hold *redlock.Hold, lease time.Duration) (ends []int64, err error) {
	if err := f.hash(hold, hold.Name(), 1); err != nil {
		return nil, err
	}
	for _, m := range f.masters {
		end, err := redis.Int64(m.run(endOf, hold.Name()))
		if err != nil {
			return nil, err
		}
		if left := time.Until(time.UnixMilli(end)); left < lease/2 {
			return nil, fmt.Errorf("%s has the lock for another %v, want about %v", m.name, left, lease)
		}
		ends = append(ends, end)
	}
	return ends, nil
}
