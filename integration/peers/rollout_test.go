package main

import (
	"errors"
	"strings"
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
