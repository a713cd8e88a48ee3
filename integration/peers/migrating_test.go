package main

import (
	"context"
	"math"
	"net"
	"os"
	"regexp"
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
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
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
	source, err := os.ReadFile("migrating_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "to the letter.\n\n")
	code, _, _ = strings.Cut(code, "// The page shows")
	for _, piece := range regexp.MustCompile(`(?ms)^((//.*?\n)*(func|type|var|const) .*?^[)}]\n|(//[^\n]*\n)*const [^\n]*\n)`).FindAllString(code, -1) {
		if !strings.Contains(string(page), piece) {
			t.Errorf("docs/migrating.md does not show\n%s", piece)
		}
	}
}

// libraries are the old ones: each takes a lock of its own on the masters, or on the first of them.
var libraries = map[string]func(*testing.T, *redlocktest.Fleet) func(context.Context, string) (old, error){
	"redsync": func(_ *testing.T, fleet *redlocktest.Fleet) func(context.Context, string) (old, error) {
		var pools []redsyncredis.Pool
		for _, pool := range fleet.Pools() {
			pools = append(pools, redigo.NewPool(pool))
		}
		return takeRedsync(redsync.New(pools...))
	},
	"bsm/redislock": func(t *testing.T, fleet *redlocktest.Fleet) func(context.Context, string) (old, error) {
		return takeRedislock(redislock.New(dial(t, fleet)))
	},
	"SET NX": func(t *testing.T, fleet *redlocktest.Fleet) func(context.Context, string) (old, error) {
		return takeSetNX(dial(t, fleet))
	},
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
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
						if turns[which].Load() == 0 {
							t.Errorf("program %d had no turn in two minutes", which)
						}
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
		})
	}
}
