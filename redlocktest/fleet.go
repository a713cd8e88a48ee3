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

// TB is the part of [testing.TB] that Start needs. With it, a program that uses [New] does not import
// the package testing.
type TB interface {
	Helper()
	Cleanup(func())
}

// Start starts n masters and closes them when the test ends. In a synctest bubble, pass the bubble's
// own t.
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

// Masters returns all masters, in order.
func (f *Fleet) Masters() []*Master { return slices.Clone(f.masters) }

// Master returns master number i, counted from 0. Names are counted from 1: Master(0) is "m1".
func (f *Fleet) Master(i int) *Master { return f.masters[i] }

// Pools makes one pool per master, whose connections are in memory and use no socket. Every call
// makes new pools, so that each client has its own. options, such as a password, a database or
// timeouts, are applied after the fleet's own.
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

// URLs returns the TCP addresses of the masters, on loopback ports that stay the same for the life of
// the fleet. The masters listen from the first call on. URLs panics if it cannot listen on a port,
// and must not be called in a synctest bubble.
func (f *Fleet) URLs() []string {
	var urls []string
	for _, m := range f.masters {
		urls = append(urls, m.url())
	}
	return urls
}
