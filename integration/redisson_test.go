package integration

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// javaLease is the lease of Redisson's watchdog.
const javaLease = 30 * time.Second

// java plays a thread of a Redisson client that takes locks on one master.
type java struct {
	m     *master
	owner string
}

// javaOn returns one thread for each master. They have the same thread number but different owners:
// one RLock from each of N clients.
func (f *fleet) javaOn(number int) (threads []*java) {
	for i, m := range f.masters {
		threads = append(threads, &java{m: m, owner: fmt.Sprintf("7ee2cd4e-5d3b-4b6e-8f2a-6b1b6f1f2a1%d:%d", i, number)})
	}
	return threads
}

// try takes the lock if it is free, and one more hold of it if the thread has it already.
func (j *java) try(name string) (taken bool, err error) {
	err = j.change(name, func(holds map[string]int) []command {
		taken = len(holds) == 0 || holds[j.owner] > 0
		if !taken {
			return nil
		}
		return j.holds(name, holds[j.owner]+1)
	})
	return taken, err
}

// unlock releases one hold. With the last one it deletes the key and tells the waiters.
func (j *java) unlock(name string) error {
	had := 0
	err := j.change(name, func(holds map[string]int) []command {
		had = holds[j.owner]
		switch had {
		case 0:
			return nil
		case 1:
			return []command{{"DEL", name}, {"PUBLISH", redissonChannel(name), "0"}}
		}
		return j.holds(name, had-1)
	})
	if err == nil && had != 1 {
		err = fmt.Errorf("%s: Redisson had %d holds of %s, want 1", j.m.name, had, name)
	}
	return err
}

// command is a Redis command with its arguments.
type command []any

// holds returns the commands that set how many holds of a lock the thread has.
func (j *java) holds(name string, many int) []command {
	return []command{{"HSET", name, j.owner, many}, {"PEXPIRE", name, javaLease.Milliseconds()}}
}

// change reads how many holds each owner has, and atomically carries out the commands that decide
// returns. If somebody else changed the lock meanwhile, it starts again.
func (j *java) change(name string, decide func(holds map[string]int) []command) error {
	conn, err := j.m.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		if _, err := conn.Do("WATCH", name); err != nil {
			return err
		}
		holds, err := redis.IntMap(conn.Do("HGETALL", name))
		if err != nil {
			return err
		}
		commands := decide(holds)
		if len(commands) == 0 {
			return nil
		}
		for _, c := range append([]command{{"MULTI"}}, commands...) {
			if err := conn.Send(c[0].(string), c[1:]...); err != nil {
				return err
			}
		}
		if done, err := conn.Do("EXEC"); done != nil || err != nil {
			return err
		}
	}
}

// lock tries again at each message that the lock is free. Redisson also tries when the lease that it
// saw at its last try is over, but that takes longer than a test.
func (j *java) lock(ctx context.Context, name string, told <-chan string) error {
	for {
		if got, err := j.try(name); got || err != nil {
			return err
		}
		select {
		case <-told:
		case <-ctx.Done():
			return fmt.Errorf("%s: Redisson waits for %s: %w", j.m.name, name, ctx.Err())
		}
	}
}

// redissonChannel returns the channel on which Redisson says that a lock without braces in its name is
// free.
func redissonChannel(name string) string { return "redisson_lock__channel:{" + name + "}" }

// each calls do for all threads at once.
func each(t *testing.T, threads []*java, do func(j *java) error) {
	t.Helper()
	var wg sync.WaitGroup
	for _, j := range threads {
		wg.Go(func() {
			if err := do(j); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// listening waits until every master has a subscriber to channel.
func (f *fleet) listening(ctx context.Context, t *testing.T, channel string) {
	t.Helper()
	eventually(ctx, t, 5*time.Second, "a listener on "+channel, func() error {
		for _, m := range f.masters {
			many, err := redis.Values(m.try("PUBSUB", "NUMSUB", channel))
			if err != nil {
				return err
			}
			if listeners, err := redis.Int(many[1], nil); err != nil || listeners < 1 {
				return fmt.Errorf("%s: %d listeners, %v", m.name, listeners, err)
			}
		}
		return nil
	})
}

// soon is how long a waiter may take once it is told: the time of a message and an answer on a busy
// machine. It is less than the time between two requests.
const soon = 150 * time.Millisecond

// TestRedissonUnlocks: Redisson's unlock wakes our waiter, which would otherwise ask only later.
func TestRedissonUnlocks(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	client := f.client(redlock.Config{})
	threads := f.javaOn(1)
	const rounds = 10
	var took []time.Duration
	for range rounds {
		each(t, threads, func(j *java) error {
			got, err := j.try("orders:42")
			if err == nil && !got {
				err = fmt.Errorf("%s: the name is taken", j.m.name)
			}
			return err
		})
		waiter := make(chan *redlock.Hold, 1)
		go func() { // ends when Lock returns, at the latest with ctx
			hold, err := client.Lock(ctx, "orders:42")
			if err != nil {
				t.Errorf("Lock behind Redisson = %v", err)
			}
			waiter <- hold
		}()
		f.listening(ctx, t, redissonChannel("orders:42"))
		select { // the time between two requests grows with the wait
		case hold := <-waiter:
			t.Fatalf("Lock beside Redisson's holder = %v", hold)
		case <-time.After(500 * time.Millisecond):
		}
		start := time.Now()
		each(t, threads, func(j *java) error { return j.unlock("orders:42") })
		hold := <-waiter
		if hold == nil {
			return
		}
		took = append(took, time.Since(start))
		mustUnlock(ctx, t, hold)
		f.wantFree(ctx, t, f.masters, "orders:42")
	}
	f.log.event("from Redisson's unlock to our hold: %v", took)
	if got := median(took); got > soon {
		t.Errorf("from Redisson's unlock to our hold: median %v, want at most %v", got, soon)
	}
}

// TestRedissonWaits: our unlock wakes Redisson's waiter, both when it is alone and when our own queue
// is never empty. Neither side starves, and the two exclude each other.
func TestRedissonWaits(t *testing.T) {
	for _, ours := range []int{0, 4} {
		t.Run(fmt.Sprintf("beside %d of ours", ours), func(t *testing.T) {
			ctx := begin(t, time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: 1})
			guarded := &resource{t: t}
			thread := f.javaOn(1)[0]
			told := thread.m.subscribe(t, redissonChannel("orders:42"))
			hold := mustLock(ctx, t, f.client(redlock.Config{}), "orders:42")

			working, done := context.WithCancel(ctx)
			defer done()
			var wg sync.WaitGroup
			var turns atomic.Int64
			for who := range ours {
				client := f.client(redlock.Config{})
				wg.Go(func() {
					for working.Err() == nil {
						if err := turn(ctx, client, guarded, int64(who+1)); err != nil {
							t.Error(err)
							return
						}
						turns.Add(1)
					}
				})
			}
			if err := f.queued(ctx, queueOf("orders:42"), ours); err != nil {
				t.Fatal(err)
			}
			const rounds = 10
			var took []time.Duration
			var before int64
			for i := range rounds {
				start := time.Now()
				if i == 0 || ours == 0 {
					go func() { // ends soon
						time.Sleep(50 * time.Millisecond) // the thread has tried and waits
						_ = hold.Unlock(ctx)
					}()
				}
				if err := thread.lock(ctx, "orders:42", told); err != nil {
					t.Fatal(err)
				}
				took = append(took, time.Since(start))
				if !guarded.inside.CompareAndSwap(0, -1) {
					t.Errorf("overlap: Redisson entered while %d was inside", guarded.inside.Load())
				}
				time.Sleep(stay)
				if !guarded.inside.CompareAndSwap(-1, 0) {
					t.Errorf("overlap: %d was inside when Redisson left", guarded.inside.Load())
				}
				if err := thread.unlock("orders:42"); err != nil {
					t.Fatal(err)
				}
				if ours == 0 {
					hold = mustLock(ctx, t, f.client(redlock.Config{}), "orders:42")
					continue
				}
				before = turns.Load()
				eventually(ctx, t, 2*time.Second, "ours go on after Redisson's unlock", func() error {
					if now := turns.Load(); now == before {
						return fmt.Errorf("%d turns", now)
					}
					return nil
				})
			}
			done()
			wg.Wait()
			_ = hold.Unlock(ctx)
			f.log.event("Redisson waited %v, ours had %d turns meanwhile", took, turns.Load())
			if got := median(took); got > time.Second {
				t.Errorf("Redisson waited %v (median) for its turn, want at most 1s", got)
			}
			f.wantFree(ctx, t, f.masters, "orders:42", queueOf("orders:42"))
		})
	}
}
