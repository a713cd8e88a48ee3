package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	overgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis "github.com/redis/go-redis/v9"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// What docs/migrating.md says of locks of different libraries on the same masters.

// besides are clients of different libraries on the same three masters.
type besides struct {
	redlock *redlock.Client
	redsync *redsync.Redsync
	bsm     *redislock.Client // of the first master
}

func openBesides(t *testing.T) besides {
	t.Helper()
	fleet := redlocktest.Start(t, 3)
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	var pools []redsyncredis.Pool
	var first *goredis.Client
	for _, url := range fleet.URLs() {
		c := goredis.NewClient(&goredis.Options{Addr: strings.TrimPrefix(url, "redis://"), MaxRetries: -1})
		t.Cleanup(func() { c.Close() })
		pools = append(pools, overgoredis.NewPool(c))
		if first == nil {
			first = c
		}
	}
	return besides{client, redsync.New(pools...), redislock.New(first)}
}

// Under the same name on the same masters, each library finds something there and does not know
// what.
func TestSameNameInTwoLibraries(t *testing.T) {
	clients, ctx := openBesides(t), t.Context()
	mutex := clients.redsync.NewMutex("orders:42")
	if err := mutex.TryLockContext(ctx); err != nil {
		t.Fatal(err)
	}
	_, err := clients.redlock.Lock(ctx, "orders:42")
	if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "the key is no lock: it holds a string") {
		t.Errorf("Lock beside redsync's = %v, want ErrNoQuorum and why", err)
	}
	if ok, err := mutex.UnlockContext(ctx); !ok || err != nil {
		t.Errorf("redsync's Unlock = %v, %v", ok, err)
	}

	hold, err := clients.redlock.Lock(ctx, "orders:42")
	if err != nil {
		t.Fatal(err)
	}
	var taken *redsync.ErrTaken
	if err := mutex.TryLockContext(ctx); !errors.As(err, &taken) {
		t.Errorf("redsync's TryLock beside ours = %v, want ErrTaken", err)
	}
	_, err = clients.bsm.Obtain(ctx, "orders:42", time.Second, nil)
	if err == nil || errors.Is(err, redislock.ErrNotObtained) || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("bsm's Obtain beside ours = %v, want WRONGTYPE", err)
	}
	if err := hold.Unlock(ctx); err != nil {
		t.Errorf("Unlock = %v: the others have touched the lock", err)
	}
}

// A rollout in two releases: old processes use redsync, those of the first release both, those of
// the second ours only. No two sections overlap, as long as no old process meets a new one.
func TestRolloutInTwoReleases(t *testing.T) {
	clients := openBesides(t)
	old := func(ctx context.Context, fn func(context.Context) error) error {
		mutex := clients.redsync.NewMutex("orders:42", redsync.WithTries(1000), redsync.WithRetryDelay(time.Millisecond))
		if err := mutex.LockContext(ctx); err != nil {
			return err
		}
		return errors.Join(fn(ctx), func() error { _, err := mutex.UnlockContext(ctx); return err }())
	}
	fresh := func(ctx context.Context, fn func(context.Context) error) error {
		return clients.redlock.Do(ctx, "lock:orders:42", fn)
	}
	both := func(ctx context.Context, fn func(context.Context) error) error {
		return old(ctx, func(ctx context.Context) error { return fresh(ctx, fn) })
	}

	var inside, sections atomic.Int64
	section := func(context.Context) error {
		if inside.Add(1) > 1 {
			t.Error("two sections overlap")
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
		sections.Add(1)
		return nil
	}
	type release func(context.Context, func(context.Context) error) error
	for name, releases := range map[string][]release{
		"old and first":    {old, both},
		"first and second": {both, fresh},
	} {
		t.Run(name, func(t *testing.T) {
			var processes sync.WaitGroup
			for i := range 4 {
				processes.Go(func() {
					for range 10 {
						if err := releases[i%2](t.Context(), section); err != nil {
							t.Error(err)
						}
					}
				})
			}
			processes.Wait()
		})
	}
	if sections.Load() != 80 {
		t.Errorf("%d sections, want 80", sections.Load())
	}
}
