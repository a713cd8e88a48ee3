package multilock

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// gate holds up the scripts that a client calls on one of its masters while it is shut.
type gate struct {
	open  atomic.Value // a channel: closed while it is open
	first atomic.Value // the script call that was written first after it was shut
	once  atomic.Bool  // it was shut
}

// shut shuts the gate until open is called.
func (g *gate) shut() (open func()) {
	wait := make(chan struct{})
	g.open.Store(wait)
	g.once.Store(true)
	return func() { close(wait) }
}

// gated is a connection through a gate.
type gated struct {
	net.Conn
	gate *gate
}

func (c *gated) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("EVALSHA")) {
		<-c.gate.open.Load().(chan struct{})
		if c.gate.once.Load() {
			c.gate.first.CompareAndSwap(nil, string(p))
		}
	}
	return c.Conn.Write(p)
}

// gated makes a client with a gate before master i.
func (fx *fixture) gated(t *testing.T, i int) (*Masters, *gate) {
	t.Helper()
	g := new(gate)
	g.open.Store(closedChan)
	pools := fx.Pools()
	pools[i] = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
		conn, err := fx.Master(i).Dial(ctx)
		if err != nil {
			return nil, err
		}
		return redis.NewConn(&gated{conn, g}, 0, 0), nil
	}}
	m := connect(fx.Fleet, pools, node.Config{})
	t.Cleanup(func() { m.Close() })
	synctest.Wait() // connected
	return m, g
}

// The commands of a contest leave in the order of its steps, whoever makes them: a release never overtakes
// the round that it takes back, or something would be left.
func TestReleaseComesAfterTheRound(t *testing.T) {
	for name, release := range map[string]func(*testing.T, *fixture) *Masters{
		"given up while it is on its way": func(t *testing.T, fx *fixture) *Masters {
			m, gate := fx.gated(t, 0)
			open := gate.shut()
			req := request("k")
			d := m.newDriver("k", &req, time.Time{}, make(chan struct{}, 1))
			go d.start()
			synctest.Wait()
			go func() { _, _ = d.conclude(&req, context.Canceled) }()
			synctest.Wait()
			open()
			return m
		},
		"masters that are down answer before it has left": func(t *testing.T, fx *fixture) *Masters {
			m := fx.another(t)
			fx.each((*redlocktest.Master).Kill)
			fx.Master(2).RestartWithData()
			time.Sleep(time.Second)
			c := begin(t, m, request("k"))
			c.wantError(t, "with two of three down", poll.ErrNoQuorum)
			return m
		},
		"the first answers win before it went to the last": func(t *testing.T, fx *fixture) *Masters {
			m, gate := fx.gated(t, 2)
			open := gate.shut()
			req := request("k")
			d := m.newDriver("k", &req, time.Time{}, make(chan struct{}, 1))
			go d.start()
			synctest.Wait()
			hold, err := d.conclude(&req, nil)
			if err != nil {
				t.Fatal(err)
			}
			given := make(chan error)
			go func() { given <- hold.Unlock(t.Context(), req.Entry) }()
			synctest.Wait()
			open()
			if err := <-given; err != nil {
				t.Error(err)
			}
			return m
		},
		"given up while a release that enters it is on its way": func(t *testing.T, fx *fixture) *Masters {
			m, gate := fx.gated(t, 0)
			hold := fx.take(t, m, "k")
			first, second := begin(t, m, patient("k")), begin(t, m, patient("k"))
			time.Sleep(time.Second) // subscribed
			unlock(t, hold)
			hold = first.wantHold(t, "the next caller")
			open := gate.shut()
			go hold.Unlock(t.Context(), first.entry)
			synctest.Wait()
			second.cancel()
			synctest.Wait()
			open()
			<-second.done
			synctest.Wait()
			if call := gate.first.Load().(string); !strings.Contains(call, hold.Owner()) {
				t.Errorf("it has left the queue before it was entered: %q", call)
			}
			return m
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				m := release(t, fx)
				time.Sleep(time.Second)
				fx.wantNothing(t, "then", m)
			})
		})
	}
}
