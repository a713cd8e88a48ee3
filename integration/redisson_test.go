package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// subscribe returns the payloads that are published on a channel.
//
// Goroutines: one, which ends when its connection is closed at the end of the test.
func (m *master) subscribe(t *testing.T, channel string) <-chan string {
	t.Helper()
	conn, err := m.Dial(redis.DialReadTimeout(0))
	check.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	subscription := redis.PubSubConn{Conn: conn}
	check.OK(t, subscription.Subscribe(channel))
	if confirmed, ok := subscription.ReceiveWithTimeout(time.Minute).(redis.Subscription); !ok {
		t.Fatalf("SUBSCRIBE %s: %v", channel, confirmed)
	}
	payloads := make(chan string, 100)
	go func() {
		for {
			switch message := subscription.Receive().(type) {
			case redis.Message:
				payloads <- string(message.Data)
			case error:
				return
			}
		}
	}()
	return payloads
}

// javaOwner is a holder that can only be Redisson's.
const javaOwner = "7ee2cd4e-5d3b-4b6e-8f2a-6b1b6f1f2a10:1"

// The scripts of Redisson's lock, but that nobody enters it again.
var (
	javaLock = redis.NewScript(1, `
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hset', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`)
	javaUnlock = redis.NewScript(2, `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 0)
return 1`)
)

// javaLocks and javaUnlocks return nil if Redisson got the lock, or gave it back.
func (m *master) javaLocks(name string, lease time.Duration) error {
	return m.java(javaLock, name, javaOwner, lease.Milliseconds())
}

func (m *master) javaUnlocks(name string) error {
	return m.java(javaUnlock, name, "redisson_lock__channel:{"+name+"}", javaOwner)
}

func (m *master) java(script *redis.Script, args ...any) error {
	conn, err := m.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	if done, err := redis.Bool(script.Do(conn, args...)); err != nil || !done {
		return fmt.Errorf("Redisson: %v, %v", done, err)
	}
	return nil
}

// TestRedissonBesideUs: Redisson's holder counts like one of ours, and its unlock wakes our waiter, who would
// otherwise ask only later. Ours wakes its waiter, even if our own queue is never empty. Neither side starves,
// and the two exclude each other.
func TestRedissonBesideUs(t *testing.T) {
	const name, long = "orders:42", 30 * time.Second
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 1})
	m := f.masters[0]
	told := m.subscribe(t, "redisson_lock__channel:{"+name+"}")
	check.OK(t, m.javaLocks(name, long))
	clients := []*redlock.Client{f.client(redlock.Config{}), f.client(redlock.Config{})}
	if hold, err := clients[0].TryLock(ctx, name); !errors.Is(err, redlock.ErrTaken) {
		t.Errorf("TryLock beside Redisson's holder = %v, %v, want ErrTaken", hold, err)
	}

	working, done := context.WithCancel(ctx)
	defer done()
	var inside, turns atomic.Int64
	enter := func(who int64) {
		if !inside.CompareAndSwap(0, who) {
			t.Errorf("%d entered while %d was inside", who, inside.Load())
		}
		time.Sleep(time.Millisecond)
		inside.CompareAndSwap(who, 0)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for working.Err() == nil {
				err := clients[i%2].Do(working, name, func(context.Context) error {
					enter(int64(i + 1))
					turns.Add(1)
					return nil
				})
				if err != nil && working.Err() == nil {
					t.Errorf("Do = %v", err)
					return
				}
			}
		})
	}
	time.Sleep(time.Second) // the time between two requests grows with the wait
	for range 10 {
		before, start := turns.Load(), time.Now()
		check.OK(t, m.javaUnlocks(name))
		eventually(ctx, t, "ours have a turn after Redisson's unlock", func() error {
			if turns.Load() == before {
				return errors.New("none")
			}
			return nil
		})
		t.Logf("ours had a turn %v after Redisson's unlock", time.Since(start))
		for m.javaLocks(name, long) != nil {
			select {
			case <-told:
			case <-ctx.Done():
				t.Fatal("Redisson never has a turn")
			}
		}
		enter(-1)
	}
	check.OK(t, m.javaUnlocks(name))
	done()
	wg.Wait()
	f.wantFree(ctx, t, name)
}
