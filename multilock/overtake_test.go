package multilock

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// gate holds up what is written to a master while it is shut.
type gate struct {
	net.Conn
	shut *atomic.Bool
	open chan struct{}
}

func (g *gate) Write(p []byte) (int, error) {
	if g.shut.Load() && bytes.Contains(p, []byte("EVALSHA")) {
		<-g.open
	}
	return g.Conn.Write(p)
}

// A round goes to one master after the other. Where the first answers decide before it went to the
// last, and the hold is given back at once, the release does not overtake the round: nothing is left.
func TestReleaseComesAfterTheRoundThatWon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 5)
		var shut atomic.Bool
		open := make(chan struct{})
		pools := fleet.Pools()
		pools[3] = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := fleet.Master(3).Dial(ctx)
			if err != nil {
				return nil, err
			}
			return redis.NewConn(&gate{conn, &shut, open}, 0, 0), nil
		}}
		m := connect(fleet, pools, node.Config{})
		defer m.Close()
		other := connect(fleet, fleet.Pools(), node.Config{})
		defer other.Close()
		synctest.Wait()
		lockUnlock(t, m, func() {})

		const lease = time.Second
		if _, err := other.Lock(t.Context(), Request{Key: "k", Lease: lease, Wait: true, Entry: new(free)}); err != nil {
			t.Fatal(err)
		}
		returned := make(chan *Hold)
		e := new(free)
		go func() {
			hold, err := m.Lock(t.Context(), Request{Key: "k", Lease: time.Minute, Wait: true, Entry: e})
			if err != nil {
				t.Error(err)
			}
			returned <- hold
		}()
		time.Sleep(lease / 2)
		shut.Store(true) // the round that follows the end of the lease goes no further than to the fourth master
		hold := <-returned
		given := make(chan error)
		go func() { given <- hold.Unlock(t.Context(), e) }()
		synctest.Wait()
		shut.Store(false)
		close(open)
		if err := <-given; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		for i, master := range fleet.Masters() {
			if master.Holder("k") != "" {
				t.Errorf("m%d still has the lock", i+1)
			}
		}
	})
}
