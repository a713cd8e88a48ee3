package redlocktest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gomodule/redigo/redis"
)

// A Fleet is a number of independent masters. Make one with [Start] or [New].
type Fleet struct {
	masters []*Master
	wg      sync.WaitGroup // every goroutine of every master

	mu    sync.Mutex
	pools []*redis.Pool
}

// TB is the part of [testing.TB] that Start needs. A program that uses [New] does not
// drag the package testing in.
type TB interface {
	Helper()
	Cleanup(func())
}

// Start starts n masters and closes them when the test ends. In a synctest bubble, call it
// with the bubble's own tb.
func Start(tb TB, n int) *Fleet {
	tb.Helper()
	f := New(n)
	tb.Cleanup(f.Close)
	return f
}

// New starts n masters, named "m1" and up. The caller must Close the fleet.
func New(n int) *Fleet {
	f := &Fleet{}
	for i := range n {
		f.masters = append(f.masters, newMaster(fmt.Sprintf("m%d", i+1), &f.wg))
	}
	return f
}

// Close kills all masters, closes all pools and waits until every goroutine of the fleet
// has ended. Clients that wait for an answer or a dial get an error.
func (f *Fleet) Close() {
	for _, m := range f.masters {
		m.close()
	}
	f.mu.Lock()
	pools := f.pools
	f.pools = nil
	f.mu.Unlock()
	for _, p := range pools {
		p.Close()
	}
	f.wg.Wait()
}

// Masters are all masters, in order.
func (f *Fleet) Masters() []*Master { return slices.Clone(f.masters) }

// Master is the master number i, from 0. Its name is one more.
func (f *Fleet) Master(i int) *Master { return f.masters[i] }

// Pools makes one pool per master, whose connections are in memory and touch no socket.
// Every call makes new ones, so that each client has its own. options come after the
// fleet's: a password, a database, timeouts.
func (f *Fleet) Pools(options ...redis.DialOption) []*redis.Pool {
	f.mu.Lock()
	defer f.mu.Unlock()
	var pools []*redis.Pool
	for _, m := range f.masters {
		pools = append(pools, m.pool(options))
	}
	f.pools = append(f.pools, pools...)
	return pools
}

// URLs are the addresses of the masters over TCP, on loopback ports that stay the same for
// the life of the fleet. The masters listen from the first call on. It panics when a port
// cannot be had, and must not be called in a synctest bubble.
func (f *Fleet) URLs() []string {
	var urls []string
	for _, m := range f.masters {
		urls = append(urls, m.url())
	}
	return urls
}
