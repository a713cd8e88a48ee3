// Package migrating has what docs/migrating.md shows: a program that takes its old lock and the new one
// together, for the time of a rollout.
package migrating

import (
	"context"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// What docs/migrating.md shows, to the letter.

// old is a lock of the old library that is held.
type old struct {
	until  time.Time
	extend func(context.Context) (until time.Time, ok bool)
	unlock func(context.Context)
}

// inBoth runs fn under the old lock, which take takes, and the new one. The context of fn ends with either.
func inBoth(ctx context.Context, take func(context.Context, string) (old, error), client *redlock.Client, name string, fn func(context.Context) error) error {
	lock, err := take(ctx, name)
	if err != nil {
		return err
	}
	defer lock.unlock(context.WithoutCancel(ctx))
	ctx, stop := lock.keep(ctx) // from here on, also while it waits for the new lock
	defer stop()
	return client.Do(ctx, "lock:"+name, fn) // another name: see below
}

// keep extends the old lock until stop is called. The context that it returns ends with that lock at the latest.
func (lock old) keep(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	lease := time.Until(lock.until)
	end := time.AfterFunc(lease, cancel) // however long an extension takes
	var extending sync.WaitGroup
	extending.Go(func() {
		for {
			select {
			case <-time.After(lease / 3):
			case <-ctx.Done():
				return
			}
			if until, ok := lock.extend(ctx); ok && end.Stop() {
				end.Reset(time.Until(until))
			}
		}
	})
	return ctx, func() {
		cancel()
		extending.Wait() // an extension must not come behind the unlock
		end.Stop()
	}
}

func takeRedsync(rs *redsync.Redsync) func(context.Context, string) (old, error) {
	return func(ctx context.Context, name string) (old, error) {
		mutex := rs.NewMutex(name, redsync.WithTries(math.MaxInt)) // until ctx ends
		err := mutex.LockContext(ctx)
		return old{
			until: mutex.Until(),
			extend: func(ctx context.Context) (time.Time, bool) {
				ok, err := mutex.ExtendContext(ctx)
				return mutex.Until(), ok && err == nil
			},
			unlock: func(ctx context.Context) { _, _ = mutex.UnlockContext(ctx) },
		}, err
	}
}

func takeRedislock(locker *redislock.Client) func(context.Context, string) (old, error) {
	return func(ctx context.Context, name string) (old, error) {
		lock, err := locker.Obtain(ctx, name, ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
		if err != nil {
			return old{}, err
		}
		asked := time.Now()
		left, err := lock.TTL(ctx)
		return old{
			until: asked.Add(left),
			extend: func(ctx context.Context) (time.Time, bool) {
				asked := time.Now()
				err := lock.Refresh(ctx, ttl, nil)
				return asked.Add(ttl), err == nil
			},
			unlock: func(ctx context.Context) { _ = lock.Release(ctx) },
		}, err
	}
}

// ttl is the lease of the old locks.
const ttl = 8 * time.Second

// What is under the key must still be ours.
var (
	extendOurs = redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('pexpire', KEYS[1], ARGV[2])`)
	deleteOurs = redis.NewScript(`return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1])`)
)

func takeSetNX(rdb *redis.Client) func(context.Context, string) (old, error) {
	return func(ctx context.Context, name string) (old, error) {
		value := uuid.NewString()
		for {
			asked := time.Now()
			if ok, err := rdb.SetNX(ctx, name, value, ttl).Result(); err != nil {
				return old{}, err
			} else if ok {
				return old{
					until: asked.Add(ttl),
					extend: func(ctx context.Context) (time.Time, bool) {
						asked := time.Now()
						err := extendOurs.Run(ctx, rdb, []string{name}, value, ttl.Milliseconds()).Err()
						return asked.Add(ttl), err == nil // a false of Lua is the error redis.Nil
					},
					unlock: func(ctx context.Context) { deleteOurs.Run(ctx, rdb, []string{name}, value) },
				}, nil
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return old{}, ctx.Err()
			}
		}
	}
}

// The page shows the functions in pieces.
func TestMigratingShowsThis(t *testing.T) {
	_, code, _ := strings.Cut(check.File(t, "migrating_test.go"), "to the letter.\n\n")
	code, _, _ = strings.Cut(code, "// The page shows")
	for _, piece := range regexp.MustCompile(`(?ms)^((//.*?\n)*(func|type|var|const) .*?^[)}]\n|(//[^\n]*\n)*const [^\n]*\n)`).FindAllString(code, -1) {
		check.Shows(t, "../../docs/migrating.md", piece)
	}
}
