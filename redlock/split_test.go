package redlock_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// farPools are pools of a client that every command takes a random time to leave, another
// for each master, so that it reaches the masters in an order of its own.
func farPools(fleet *redlocktest.Fleet, seed uint64, most time.Duration) []*redis.Pool {
	conns := make([]atomic.Uint64, len(fleet.Masters()))
	return tapping(fleet, func(i int, _ net.Conn) func([]byte) {
		r := rand.New(rand.NewPCG(seed, uint64(i)+conns[i].Add(1)<<8)) // one goroutine writes to a connection
		return func([]byte) { pause(r, most) }
	})
}

// Clients that try a free lock at once and get some masters each: TryLock does not fail
// with ErrTaken for all of them, since nobody has it.
func TestSplitVotesAreRepeated(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ masters, clients int }{
		{2, 2}, {3, 2}, {3, 3}, {4, 2}, {5, 2}, {5, 3},
	} {
		t.Run(fmt.Sprintf("N=%d clients=%d", tt.masters, tt.clients), func(t *testing.T) {
			for seed := range uint64(15) {
				synctest.Test(t, func(t *testing.T) { trySplit(t, seed, tt.masters, tt.clients) })
			}
		})
	}
}

func trySplit(t *testing.T, seed uint64, masters, clients int) {
	fleet := redlocktest.Start(t, masters)
	var wg sync.WaitGroup
	got := make(chan *redlock.Hold, clients)
	for i := range clients {
		c := open(t, fleet, redlock.Config{Pools: farPools(fleet, seed*100+uint64(i), 3*time.Millisecond)})
		wg.Go(func() {
			time.Sleep(100 * time.Millisecond) // connected
			if hold, err := c.TryLock(t.Context(), "a"); err == nil {
				got <- hold
			} else {
				expect(t, "TryLock", err, redlock.ErrTaken)
			}
		})
	}
	wg.Wait()
	if len(got) != 1 {
		t.Errorf("seed %d: %d of %d clients got a free lock, want 1", seed, len(got), clients)
	}
	time.Sleep(settle)
	if len(got) == 1 {
		unlock(t, <-got)
	}
	time.Sleep(settle)
	expectFree(t, fleet, "a")
}
