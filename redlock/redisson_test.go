package redlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

const redissonChannel = "redisson_lock__channel:{a}"

// redisson is one of Redisson's clients with a lock named a on each master, as RLock
// works: it tries all, gives back what is not enough, and then waits until a message
// says that the lock is free.
type redisson struct {
	t     *testing.T
	owner string
	conns []redis.Conn
	freed chan struct{}
}

// newRedisson makes one that waits on its channel only when it listens.
func newRedisson(t *testing.T, fleet *redlocktest.Fleet, thread int) *redisson {
	t.Helper()
	r := &redisson{t: t, owner: fmt.Sprintf("0e7c6f7a-8a31-4e26-a5a8-3d9b8f1c5d10:%d", thread), freed: make(chan struct{}, 1)}
	for _, m := range fleet.Masters() {
		r.conns = append(r.conns, rawConn(t, m))
	}
	return r
}

func rawConn(t *testing.T, m *redlocktest.Master) redis.Conn {
	t.Helper()
	nc, err := m.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := redis.NewConn(nc, 0, 0)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// listen subscribes to what tells Redisson's clients that the lock is free.
func (r *redisson) listen(fleet *redlocktest.Fleet) {
	for _, m := range fleet.Masters() {
		sub := redis.PubSubConn{Conn: rawConn(r.t, m)}
		expect(r.t, "Subscribe", sub.Subscribe(redissonChannel))
		go func() {
			for {
				switch sub.Receive().(type) {
				case redis.Message:
					select {
					case r.freed <- struct{}{}:
					default:
					}
				case error:
					return
				}
			}
		}()
	}
	synctest.Wait()
}

// try takes the lock on a majority of the masters, or on none.
func (r *redisson) try() bool {
	got := 0
	for _, conn := range r.conns {
		won, err := redis.Int(conn.Do("EVAL", "if redis.call('exists', 'a') == 1 then return 0 end redis.call('hset', 'a', ARGV[1], 1) return redis.call('pexpire', 'a', 30000)", 0, r.owner))
		expect(r.t, "EVAL", err)
		got += won
	}
	if got > len(r.conns)/2 {
		return true
	}
	r.unlock()
	return false
}

const theirPause = 3 * time.Millisecond

// lock waits for the lock, until done is closed. What several of them give back at the same
// time wakes them all, so each looks after a random time, or they would meet again forever.
func (r *redisson) lock(done <-chan struct{}) bool {
	for !r.try() {
		select {
		case <-r.freed:
		case <-done:
			return false
		}
		time.Sleep(rand.N(theirPause))
	}
	return true
}

func (r *redisson) unlock() {
	for _, conn := range r.conns {
		_, err := conn.Do("EVAL", "if redis.call('hdel', 'a', ARGV[1]) == 1 then redis.call('publish', ARGV[2], '0') end", 0, r.owner, redissonChannel)
		expect(r.t, "EVAL", err)
	}
}

// Where many of both sides wait all the time, both get their share, and never both at
// once.
func TestNeitherSideStarves(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const rounds, fewest = 100, 10
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond / 4) })
		clients := []*redlock.Client{c, open(t, fleet, redlock.Config{})}
		var mu sync.Mutex
		inside, ours, theirs := 0, 0, 0
		ctx, done := context.WithTimeout(t.Context(), time.Minute)
		defer done()
		section := func(count *int) (more bool) {
			mu.Lock()
			if inside++; inside > 1 {
				t.Errorf("%d are inside", inside)
			}
			*count++
			total := ours + theirs
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			inside--
			if total == rounds {
				done()
			}
			return total < rounds
		}
		var wg sync.WaitGroup
		for _, c := range clients {
			wg.Go(func() {
				for more := true; more; {
					err := c.Do(ctx, "a", func(context.Context) error {
						more = section(&ours)
						return nil
					})
					if ctx.Err() != nil {
						return
					}
					expect(t, "Do", err)
				}
			})
		}
		for thread := range 2 {
			r := newRedisson(t, fleet, thread)
			r.listen(fleet)
			wg.Go(func() {
				for more := true; more && r.lock(ctx.Done()); {
					more = section(&theirs)
					r.unlock()
				}
			})
		}
		start := time.Now()
		wg.Wait()
		t.Logf("%d locks of ours and %d of theirs in %v", ours, theirs, time.Since(start))
		if ours < fewest || theirs < fewest {
			t.Errorf("%d locks of ours and %d of theirs, want at least %d each", ours, theirs, fewest)
		}
		time.Sleep(time.Second)
		expectFree(t, fleet, "a")
	})
}
