package multilock

import (
	"bytes"
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// gate holds up the scripts that a client calls on one of its masters while it is shut, and notes them. That before
// the first master holds up who sends first, as well.
type gate struct {
	open atomic.Value // a channel: closed while it is open
	came atomic.Bool  // who sends first

	mu    sync.Mutex
	calls []string // as they were written
}

// shut shuts the gate until open is called.
func (g *gate) shut() (open func()) {
	wait := make(chan struct{})
	g.open.Store(wait)
	g.came.Store(false)
	return func() { close(wait) }
}

// passed returns the calls that were written so far.
func (g *gate) passed() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.calls)
}

// gated is a connection through a gate.
type gated struct {
	net.Conn
	gate *gate
}

func (c *gated) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("EVALSHA")) {
		<-c.gate.open.Load().(chan struct{})
		c.gate.mu.Lock()
		c.gate.calls = append(c.gate.calls, string(p))
		c.gate.mu.Unlock()
	}
	return c.Conn.Write(p)
}

// gated makes a client, and returns the gate before master i.
func (fx *fixture) gated(t *testing.T, i int) (*Masters, *gate) {
	t.Helper()
	m, gates := fx.gates(t)
	return m, gates[i]
}

// gates makes a client with a gate before each master.
func (fx *fixture) gates(t *testing.T) (*Masters, []*gate) {
	t.Helper()
	pools := fx.Pools()
	gates := make([]*gate, len(pools))
	for i := range pools {
		gates[i] = new(gate)
		gates[i].open.Store(closedChan)
		pools[i] = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := fx.Master(i).Dial(ctx)
			if err != nil {
				return nil, err
			}
			return redis.NewConn(&gated{conn, gates[i]}, 0, 0), nil
		}}
	}
	m := connect(fx.Fleet, pools, node.Config{})
	m.All.HoldUp = func(at Set) {
		if at.Has(0) && gates[0].came.CompareAndSwap(false, true) {
			<-gates[0].open.Load().(chan struct{})
		}
	}
	t.Cleanup(func() { m.Close() })
	synctest.Wait() // connected
	return m, gates
}

// A goroutine that waits until all of a driver is sent goes on when a renewal of several holds, which had reserved its outbox, is sent.
func TestAReservedOutboxHoldsUpNobody(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		hold.d.reserve()
		drained := during(func() error {
			hold.d.drain()
			return nil
		})
		check.Equal(t, len(drained), 0, "who waits, while it is reserved, and goes on")
		hold.d.resume()
		synctest.Wait()
		check.Equal(t, len(drained), 1, "who waits, and goes on then")
		unlock(t, hold)
	})(t)
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
			go d.giveUp()
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
			hold, _ := d.take(&req, nil)
			given := during(func() error { return hold.Unlock(t.Context(), req.Entry) })
			open()
			check.Err(t, "Unlock", <-given)
			return m
		},
		"given up while a release that enters it is on its way": func(t *testing.T, fx *fixture) *Masters {
			m, gates := fx.gates(t)
			hold := fx.take(t, m, "k")
			first, second := begin(t, m, patient("k")), begin(t, m, patient("k"))
			time.Sleep(time.Second) // subscribed
			unlock(t, hold)
			hold = first.wantHold(t, "the next caller")
			synctest.Wait() // all masters have heard of the release
			var before []int
			for _, g := range gates {
				before = append(before, len(g.passed()))
			}
			open := gates[0].shut()
			go hold.Unlock(t.Context(), first.entry)
			synctest.Wait()
			second.cancel()
			synctest.Wait()
			open()
			<-second.done
			synctest.Wait()
			// The first master holds up the one who sends: the others are sent nothing ahead of it.
			for i, g := range gates {
				call := g.passed()[before[i]]
				check.That(t, strings.Contains(call, hold.Owner()), "at master %d it has left the queue before it was entered: %q", i, call)
			}
			return m
		},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			m := release(t, fx)
			time.Sleep(time.Second)
			fx.wantNothing(t, "then", m)
		}))
	}
}
