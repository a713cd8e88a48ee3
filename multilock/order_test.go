package multilock

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// tap notes what is written on each connection to a fleet.
type tap struct {
	mu    sync.Mutex
	lines []*tapped
	full  chan struct{} // while it is open, nothing is written: buffers are full; nil: they are not
}

// tapped is one connection.
type tapped struct {
	net.Conn
	tap  *tap
	sent bytes.Buffer
}

func (c *tapped) Write(p []byte) (int, error) {
	c.tap.mu.Lock()
	c.sent.Write(p)
	full := c.tap.full
	c.tap.mu.Unlock()
	if full != nil {
		<-full
	}
	for range rand.N(4) {
		runtime.Gosched() // so that others who send can come between, also on few processors
	}
	return c.Conn.Write(p)
}

// fill has whoever writes wait until full is closed.
func (tap *tap) fill(full chan struct{}) {
	tap.mu.Lock()
	defer tap.mu.Unlock()
	tap.full = full
}

func (tap *tap) pools(fleet *redlocktest.Fleet) []*redis.Pool {
	pools := make([]*redis.Pool, len(fleet.Masters()))
	for i, m := range fleet.Masters() {
		pools[i] = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := m.Dial(ctx)
			if err != nil {
				return nil, err
			}
			c := &tapped{Conn: conn, tap: tap}
			tap.mu.Lock()
			defer tap.mu.Unlock()
			tap.lines = append(tap.lines, c)
			return redis.NewConn(c, 0, 0), nil
		}}
	}
	return pools
}

// wantInOrder checks that on each connection the owners of the client come one after the other, and
// the rounds of each as well, and returns how many there were of both.
func (tap *tap) wantInOrder(t *testing.T, client string) (owners, rounds int) {
	t.Helper()
	owner := regexp.MustCompile(regexp.QuoteMeta(client) + `:r(\d+)\r\n`)
	// Behind the owner stand lease and proposal, or only that, then since and short.
	round := regexp.MustCompile(`:r(\d+)\r\n(?:\$\d+\r\n\d+\r\n){1,2}\$\d+\r\n\d{15,16}\r\n\$\d\r\n\d{1,6}\r\n\$\d+\r\n(\d+)\r\n`)
	tap.mu.Lock()
	defer tap.mu.Unlock()
	for i, c := range tap.lines {
		sent, last := c.sent.Bytes(), 0
		for _, match := range owner.FindAllSubmatch(sent, -1) {
			n, _ := strconv.Atoi(string(match[1]))
			if n < last {
				t.Errorf("connection %d: owner %d comes after %d", i, n, last)
			}
			last = max(last, n)
		}
		owners = max(owners, last)
		asked, all := map[string]int{}, round.FindAllSubmatch(sent, -1)
		for _, match := range all {
			of := string(match[1])
			n, _ := strconv.Atoi(string(match[2]))
			if n <= asked[of] {
				t.Errorf("connection %d: round %d of owner %s comes after %d", i, n, of, asked[of])
			}
			asked[of] = n
		}
		rounds = max(rounds, len(all))
	}
	return owners, rounds
}

// The commands of a contest leave in the order of its steps, whoever makes them: a release never overtakes
// what it takes back, and no round the one before. That is so where many goroutines step it at once, and where
// answers come before they have been sent to all, as those of a master that is down do.
func TestCommandsLeaveInTheOrderOfTheSteps(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprint("down=", down), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				fx.seat("x", time.Hour, 1)
				if down {
					fx.Master(2).Kill()
				} else {
					fx.seat("y", time.Hour, 2)
				}
				tap := new(tap)
				m := connect(fx.Fleet, tap.pools(fx.Fleet), node.Config{})
				defer m.Close()
				m.greet(t.Context())
				fx.hold(t, m)
				c := asked(m)
				var steps sync.WaitGroup
				for i := range 8 {
					d := rand.New(rand.NewPCG(uint64(i), 1))
					steps.Go(func() {
						for range 60 {
							switch d.IntN(4) {
							case 0:
								c.step(&protocol.Event{Kind: protocol.Hint, Delay: time.Millisecond})
							case 1:
								m.HandedOff(0, handOff(c, uint64(stateOf(c).Round), 1))
							default:
								c.mu.Lock()
								c.state.AskAt, c.state.BackOffAt = clock.Now(), clock.Now()
								c.stepLocked(&protocol.Event{Kind: protocol.Due})
								c.flush()
							}
							if d.IntN(4) == 0 {
								time.Sleep(time.Duration(d.IntN(20_000)))
							}
						}
					})
				}
				steps.Wait()
				synctest.Wait()
				c.giveUp(nil)
				synctest.Wait()
				owners, rounds := tap.wantInOrder(t, m.owners.client)
				if owners < 20 || rounds < 100 {
					t.Errorf("%d owners and %d rounds, want enough to tell", owners, rounds)
				}
				time.Sleep(2 * time.Second)
				if h := fx.Master(0).Holder("k"); h != "" {
					t.Errorf("m1 has %s, want nobody", h)
				}
				wantForgotten(t, "then", m)
			})
		})
	}
}

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
