package migrating

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/redis/go-redis/v9"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// What docs/migrating.md says of a rollout, and of locks of different libraries on the same masters.

// libraries are the old ones: each takes a lock of its own on the masters, or on the first of them.
var libraries = map[string]func(*testing.T, *redlocktest.Fleet) func(context.Context, string) (old, error){
	"redsync": func(_ *testing.T, fleet *redlocktest.Fleet) func(context.Context, string) (old, error) {
		return takeRedsync(newRedsync(fleet))
	},
	"bsm/redislock": func(t *testing.T, fleet *redlocktest.Fleet) func(context.Context, string) (old, error) {
		return takeRedislock(redislock.New(dial(t, fleet)))
	},
	"SET NX": func(t *testing.T, fleet *redlocktest.Fleet) func(context.Context, string) (old, error) {
		return takeSetNX(dial(t, fleet))
	},
}

func newRedsync(fleet *redlocktest.Fleet) *redsync.Redsync {
	var pools []redsyncredis.Pool
	for _, pool := range fleet.Pools() {
		pools = append(pools, redigo.NewPool(pool))
	}
	return redsync.New(pools...)
}

func dial(t *testing.T, fleet *redlocktest.Fleet) *redis.Client {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return fleet.Master(0).Dial(ctx)
	}})
	t.Cleanup(func() { client.Close() })
	return client
}

// process is one of a rollout, with connections of its own.
type process struct {
	take   func(context.Context, string) (old, error)
	client *redlock.Client
}

func newProcess(t *testing.T, fleet *redlocktest.Fleet, library string) process {
	t.Helper()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, client.Close()) })
	return process{libraries[library](t, fleet), client}
}

// The programs of a rollout. The first release and the new program work for longer than the old lease of 8 s.
func (p process) old(ctx context.Context, work func(context.Context, time.Duration)) error {
	lock, err := p.take(ctx, "orders:42")
	if err != nil {
		return err
	}
	work(ctx, 3*time.Second)
	lock.unlock(ctx)
	return nil
}

func (p process) first(ctx context.Context, work func(context.Context, time.Duration)) error {
	return inBoth(ctx, p.take, p.client, "orders:42", func(ctx context.Context) error {
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
		for library := range libraries {
			t.Run(step.name+"/"+library, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fleet := redlocktest.Start(t, 3)
					ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
					defer cancel()
					var inside atomic.Int64
					turns := make([]atomic.Int64, len(step.programs))
					var all sync.WaitGroup
					for which, run := range step.programs {
						for range 2 {
							p := newProcess(t, fleet, library)
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
						check.That(t, turns[which].Load() != 0, "program %d had no turn in two minutes", which)
					}
				})
			})
		}
	}
}

// TestBothLocksEndTogether: work ends with the old lock, though the new one is still held, and leaves neither.
func TestBothLocksEndTogether(t *testing.T) {
	for library := range libraries {
		t.Run(library, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := redlocktest.Start(t, 3)
				p := newProcess(t, fleet, library)
				began := time.Now()
				err := inBoth(t.Context(), p.take, p.client, "orders:42", func(ctx context.Context) error {
					time.Sleep(20 * time.Second)
					check.That(t, ctx.Err() == nil, "the work was ended after %v, while both locks were held", time.Since(began))
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
					check.Equal(t, master.Holder("lock:orders:42"), "", "the holder of the new lock at %s", master.Name())
				}
			})
		})
	}
}

// Under the same name on the same masters, each library finds something there and does not know
// what.
func TestSameNameInTwoLibraries(t *testing.T) {
	fleet, ctx := redlocktest.Start(t, 3), t.Context()
	ours := newProcess(t, fleet, "redsync").client
	mutex := newRedsync(fleet).NewMutex("orders:42")
	check.OK(t, mutex.TryLockContext(ctx))
	_, err := ours.Lock(ctx, "orders:42")
	check.Says(t, err, "the key is no lock: it holds a string", "Lock beside redsync's")
	if ok, err := mutex.UnlockContext(ctx); !ok || err != nil {
		t.Errorf("redsync's Unlock = %v, %v", ok, err)
	}

	hold, err := ours.Lock(ctx, "orders:42")
	check.OK(t, err)
	var taken *redsync.ErrTaken
	if err := mutex.TryLockContext(ctx); !errors.As(err, &taken) {
		t.Errorf("redsync's TryLock beside ours = %v, want ErrTaken", err)
	}
	_, err = redislock.New(dial(t, fleet)).Obtain(ctx, "orders:42", time.Second, nil)
	check.That(t, err != nil && !errors.Is(err, redislock.ErrNotObtained) && strings.Contains(err.Error(), "WRONGTYPE"), "bsm's Obtain beside ours = %v, want WRONGTYPE", err)
	check.OK(t, hold.Unlock(ctx), "Unlock: the others have touched the lock")
}
