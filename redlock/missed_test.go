package redlock_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Nobody waits for longer than that for a lock that is free, whatever message was lost:
// an interval between two asks, and what the first ask may leave to be settled.
const missedBound = time.Second

// expectWithin wants the next holder at most that long after start, and gives its hold
// back.
func expectWithin(t *testing.T, next <-chan *redlock.Hold, start time.Time, most time.Duration) {
	t.Helper()
	hold := <-next
	if got := time.Since(start); got > most {
		t.Errorf("the next holder had the lock after %v, want at most %v", got, most)
	}
	expectAlive(t, hold)
	unlock(t, hold)
}

// The release falls at every point of a waiter's first steps: before its first ask, while
// that is under way, and before it is told of anything.
func TestReleaseBesideTheFirstAskLong(t *testing.T) {
	const delay = 5 * time.Millisecond
	step := time.Millisecond / 2
	if testing.Short() {
		step *= 5
	}
	for _, others := range []int{0, 1} {
		for at := -2 * delay; at <= 10*delay; at += step {
			t.Run(fmt.Sprintf("%d others/%v", others, at), func(t *testing.T) {
				bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					d, e := open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})
					for i, m := range fleet.Masters() {
						m.Delay(delay + time.Duration(i)*delay/2)
					}
					hold := lock(t, t.Context(), c, "a")
					var other <-chan *redlock.Hold
					if others > 0 {
						other = await(t, e, "a")
					}
					time.Sleep(time.Second)
					go func() {
						time.Sleep(2*delay + at)
						unlock(t, hold)
					}()
					time.Sleep(2 * delay)
					start := time.Now()
					next := await(t, d, "a")
					if other != nil {
						expectWithin(t, other, start, 300*time.Millisecond)
					}
					expectWithin(t, next, start, 300*time.Millisecond)
					time.Sleep(time.Second)
					expectFree(t, fleet, "a")
					expectNoQueue(t, fleet, "a")
				})
			})
		}
	}
}

// earPools are pools of a client whose subscriptions can be broken.
type earPools struct {
	mu   sync.Mutex
	subs [][]net.Conn // of each master
}

// earConn is a connection that is noted when it is subscribed.
type earConn struct {
	net.Conn
	to *earPools
	i  int
}

func (c *earConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("redlock_wake:")) && bytes.Contains(p, []byte("SUBSCRIBE")) {
		c.to.mu.Lock()
		c.to.subs[c.i] = append(c.to.subs[c.i], c.Conn)
		c.to.mu.Unlock()
	}
	return c.Conn.Write(p)
}

func (e *earPools) of(fleet *redlocktest.Fleet) []*redis.Pool {
	e.subs = make([][]net.Conn, len(fleet.Masters()))
	return wrapping(fleet, func(i int, conn net.Conn) net.Conn { return &earConn{Conn: conn, to: e, i: i} })
}

// breaks breaks the subscriptions at master i: what is under way on them is lost. It
// returns how many there were.
func (e *earPools) breaks(i int) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.subs[i])
	for _, conn := range e.subs[i] {
		conn.Close()
	}
	e.subs[i] = nil
	return n
}

// The subscriptions of the one that waits break at random moments around the release,
// and the messages of the hand-over are lost with them.
func TestBrokenSubscriptionDoesNotLoseTheLock(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				r := rand.New(rand.NewPCG(seed, 0))
				var ears earPools
				d := open(t, fleet, redlock.Config{Pools: ears.of(fleet)})
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(5 * time.Millisecond) })
				hold := lock(t, t.Context(), c, "a")
				next := await(t, d, "a")
				time.Sleep(time.Second)
				pause(r, time.Second)
				var broken atomic.Int32
				for i := range 2 + r.IntN(2) {
					time.AfterFunc(time.Duration(r.Int64N(int64(20*time.Millisecond))), func() {
						broken.Add(int32(ears.breaks(i)))
					})
				}
				pause(r, 20*time.Millisecond)
				start := time.Now()
				unlock(t, hold)
				expectWithin(t, next, start, missedBound)
				time.Sleep(time.Second)
				expectFree(t, fleet, "a")
				expectNoQueue(t, fleet, "a")
				if got := broken.Load(); got < 2 {
					t.Errorf("%d subscriptions broke, want a majority", got)
				}
			})
		})
	}
}
