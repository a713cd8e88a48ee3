package main

import (
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// What docs/migrating.md shows, to the letter.

// inBoth runs fn under the old lock and the new one. The context of fn ends with either.
func inBoth(ctx context.Context, rs *redsync.Redsync, client *redlock.Client, name string, fn func(context.Context) error) error {
	mutex := rs.NewMutex(name)
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(context.WithoutCancel(ctx))
	ctx, stop := keep(ctx, mutex) // from here on, also while it waits for the new lock
	defer stop()
	return client.Do(ctx, "lock:"+name, fn) // another name: see below
}

// keep extends mutex until stop is called. The context that it returns ends with the mutex at the latest.
func keep(ctx context.Context, mutex *redsync.Mutex) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	lease := time.Until(mutex.Until())
	end := time.AfterFunc(lease, cancel) // however long an extension takes
	var extending sync.WaitGroup
	extending.Go(func() {
		for {
			select {
			case <-time.After(lease / 3):
			case <-ctx.Done():
				return
			}
			if ok, _ := mutex.ExtendContext(ctx); ok && end.Stop() {
				end.Reset(time.Until(mutex.Until()))
			}
		}
	})
	return ctx, func() {
		cancel()
		extending.Wait() // an extension must not come behind the unlock
		end.Stop()
	}
}

func TestMigratingShowsThis(t *testing.T) {
	source, err := os.ReadFile("migrating_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "to the letter.\n\n")
	code, _, _ = strings.Cut(code, "\nfunc TestMigratingShowsThis")
	if !strings.Contains(string(page), "```go\n"+code+"```\n") {
		t.Error("docs/migrating.md shows other code than this file")
	}
}

// process is one of a rollout, with connections of its own.
type process struct {
	rs     *redsync.Redsync
	client *redlock.Client
}

func newProcess(t *testing.T, fleet *redlocktest.Fleet) process {
	t.Helper()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	var pools []redsyncredis.Pool
	for _, pool := range fleet.Pools() {
		pools = append(pools, redigo.NewPool(pool))
	}
	return process{redsync.New(pools...), client}
}

// The programs of a rollout. The first release and the new program work for longer than the old lease of 8 s.
func (p process) old(ctx context.Context, work func(context.Context, time.Duration)) error {
	mutex := p.rs.NewMutex("orders:42")
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	work(ctx, 3*time.Second)
	_, err := mutex.UnlockContext(ctx)
	return err
}

func (p process) first(ctx context.Context, work func(context.Context, time.Duration)) error {
	return inBoth(ctx, p.rs, p.client, "orders:42", func(ctx context.Context) error {
		work(ctx, 12*time.Second)
		return ctx.Err()
	})
}

func (p process) second(ctx context.Context, work func(context.Context, time.Duration)) error {
	return p.client.Do(ctx, "lock:orders:42", func(ctx context.Context) error {
		work(ctx, 12*time.Second)
		return ctx.Err()
	})
}

// TestTakeBothLocks: in each step of the rollout, two processes of each program that runs then work for two
// minutes, one at a time, and each program gets its turns.
func TestTakeBothLocks(t *testing.T) {
	type program = func(process, context.Context, func(context.Context, time.Duration)) error
	for _, step := range []struct {
		name     string
		programs []program
	}{
		{"first release", []program{process.old, process.first}},
		{"second release", []program{process.first, process.second}},
	} {
		t.Run(step.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := redlocktest.Start(t, 3)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				var inside atomic.Int64
				turns := make([]atomic.Int64, len(step.programs))
				var all sync.WaitGroup
				for which, run := range step.programs {
					for range 2 {
						p := newProcess(t, fleet)
						all.Go(func() {
							for ctx.Err() == nil {
								// Redsync gives up after 32 tries, so an error is no fault.
								_ = run(p, ctx, func(ctx context.Context, length time.Duration) {
									if others := inside.Add(1) - 1; others != 0 {
										t.Errorf("program %d works beside %d others", which, others)
									}
									defer inside.Add(-1)
									select {
									case <-time.After(length):
										turns[which].Add(1)
									case <-ctx.Done():
									}
								})
								time.Sleep(time.Second) // who polls has to find it free
							}
						})
					}
				}
				all.Wait()
				for which := range turns {
					if turns[which].Load() == 0 {
						t.Errorf("program %d had no turn in two minutes", which)
					}
				}
			})
		})
	}
}

// TestBothLocksEndTogether: work ends with the mutex, though the new lock is still held, and leaves neither.
func TestBothLocksEndTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		p := newProcess(t, fleet)
		began := time.Now()
		err := inBoth(t.Context(), p.rs, p.client, "orders:42", func(ctx context.Context) error {
			time.Sleep(20 * time.Second)
			if ctx.Err() != nil {
				t.Errorf("the work was ended after %v, while both locks were held", time.Since(began))
			}
			for _, master := range fleet.Masters() {
				master.Del("orders:42")
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
			}
			return ctx.Err()
		})
		if took := time.Since(began); err == nil || took > 28*time.Second {
			t.Errorf("inBoth = %v after %v, want an error within the old lease of the loss at 20s", err, took)
		}
		synctest.Wait() // a release may still be on its way to one of them
		for _, master := range fleet.Masters() {
			if holder := master.Holder("lock:orders:42"); holder != "" {
				t.Errorf("%s still has the new lock, of %s", master.Name(), holder)
			}
		}
	})
}
