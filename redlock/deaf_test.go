package redlock_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// deafPools are pools of a client that cannot subscribe: its connections break where it tries.
func deafPools(fleet *redlocktest.Fleet) []*redis.Pool {
	pools := make([]*redis.Pool, len(fleet.Masters()))
	for i, m := range fleet.Masters() {
		pools[i] = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := m.Dial(ctx)
			if err != nil {
				return nil, err
			}
			return redis.NewConn(deafConn{conn}, 0, 0), nil
		}}
	}
	return pools
}

type deafConn struct{ net.Conn }

func (c deafConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("SUBSCRIBE")) {
		c.Close()
	}
	return c.Conn.Write(p)
}

// A client that hears nothing of its masters hands a lock over among its callers all the same: the
// next one asks at once, instead of waiting for a message that cannot come.
func TestLocalHandOverOfADeafClient(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		c := open(t, fleet, redlock.Config{Pools: deafPools(fleet)})
		warm(t, c)
		const delay = 5 * time.Millisecond
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(delay) })
		hold := lock(t, t.Context(), c, "a")
		var next [3]<-chan *redlock.Hold
		for i := range next {
			next[i] = await(t, c, "a")
		}
		time.Sleep(1037 * time.Millisecond)
		for i := range next {
			start := time.Now()
			go hold.Unlock(t.Context())
			hold = <-next[i]
			if hold == nil {
				t.Fatalf("caller %d got no hold", i)
			}
			if got := time.Since(start); got > 4*delay {
				t.Errorf("caller %d had the lock after %v, want a round trip, %v", i, got, 2*delay)
			}
		}
		unlock(t, hold)
	})
}
