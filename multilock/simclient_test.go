package multilock

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// simClient is a client in a simulation, with what goes wrong between it and the masters.
type simClient struct {
	i        int
	s        *sim
	m        *Masters
	life     context.Context // until it vanishes
	die      context.CancelFunc
	vanished bool // for good
	plug     plug
	late     sync.WaitGroup // messages under way

	mu    sync.Mutex
	stall time.Time // until when it hears nothing, as when the process is stopped
}

// newClient makes a client. All but one hear the masters through noise.
func (s *sim) newClient(i int) *simClient {
	c := &simClient{i: i, s: s}
	c.life, c.die = context.WithCancel(s.t.Context())
	cfg := node.Config{Timeout: s.timeout(), Guard: s.guard}
	if s.dice.oneIn(2) {
		cfg.MaxLease = s.lease
	}
	c.m = connect(s.fleet, c.plug.pools(s.fleet), cfg)
	if i != 1 {
		intercept(c.m, newNoisy(c))
	}
	return c
}

// gone reports whether the client has vanished.
func (c *simClient) gone() bool { return c.life.Err() != nil }

// disturb unplugs the client, stops it, suspends its machine, and sets its clock, until the faults are
// over. In the end it may vanish.
func (s *sim) disturb(d dice, c *simClient) {
	for time.Since(s.start) < s.end {
		time.Sleep(d.upTo(time.Second))
		switch d.IntN(6) {
		case 0:
			s.note("client %d is unplugged", c.i)
			s.count(unplugging)
			c.plug.pull()
			time.Sleep(d.upTo(time.Second))
			s.note("client %d is plugged in", c.i)
			c.plug.push()
		case 1, 2:
			s.note("client %d is stopped", c.i)
			c.stop(d.upTo(1200 * time.Millisecond))
		case 3:
			s.note("client %d is suspended", c.i)
			c.suspend(d.upTo(s.lease))
		default:
			c.setClock(d.upTo(2*time.Hour) - time.Hour)
		}
	}
	if s.brief && c.i > 0 && d.oneIn(2) {
		s.note("client %d vanishes", c.i)
		s.count(vanishing)
		c.vanished = true
		c.plug.pull()
		c.die()
		_ = c.m.Close()
	}
}

// stop has the client neither hear nor ask anything for d, as when its process is stopped.
func (c *simClient) stop(d time.Duration) {
	c.mu.Lock()
	c.stall = time.Now().Add(d)
	c.mu.Unlock()
	for _, contest := range c.m.owners.contests() {
		contest.mu.Lock()
		if contest.timer != nil {
			contest.timer.Reset(d)
		}
		contest.mu.Unlock()
	}
}

// suspend has the holds of the client be as after a suspend of its machine: by its clock they
// are d older, and no timer has moved.
func (c *simClient) suspend(d time.Duration) {
	for _, h := range c.m.holds() {
		h.mu.Lock()
		h.state.Until = h.state.Until.Add(-d)
		h.mu.Unlock()
	}
}

// setClock has those who wait in the client's queue, and have asked nobody yet, have begun d later by
// its clock.
func (c *simClient) setClock(d time.Duration) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	for _, n := range c.m.names {
		for w := n.line.first; w != nil; w = w.after {
			w.since = w.since.Add(d)
		}
	}
}

// noisy is the subscriber of a client in noise: hand-offs are lost, late and doubled, and that a
// subscription works, or does not, is noticed late.
type noisy struct {
	c       *simClient
	masters []noisyMaster
}

// noisyMaster is what is between one master and the client. Only the goroutine that reads there
// uses it.
type noisyMaster struct {
	dice dice
	told chan struct{} // closed when the last change of the subscription was told
}

func newNoisy(c *simClient) *noisy {
	n := &noisy{c: c, masters: make([]noisyMaster, len(c.m.nodes))}
	for i := range n.masters {
		n.masters[i] = noisyMaster{dice{rand.New(rand.NewPCG(c.s.dice.Uint64(), 0))}, closedChan}
	}
	return n
}

func (n *noisy) HandedOff(i int, h script.HandOff) {
	c, d := n.c, n.masters[i].dice
	c.s.count(handingOff)
	later := func(after time.Duration) {
		arrive := func() { c.m.HandedOff(i, h) }
		if !c.whileFaultsLast(func() { time.Sleep(after); arrive() }) {
			arrive()
		}
	}
	c.mu.Lock()
	stall := time.Until(c.stall)
	c.mu.Unlock()
	fate := d.IntN(12)
	switch {
	case c.s.healed():
		c.m.HandedOff(i, h)
	case stall > 0:
		later(max(0, stall+d.upTo(200*time.Millisecond)-50*time.Millisecond))
	case fate == 0:
		c.s.note("client %d: the hand-off of m%d to %s is lost", c.i, i+1, h.Owner)
		c.s.count(dropping)
	case fate <= 2:
		later(d.upTo(1500 * time.Millisecond))
	case fate == 3: // twice
		later(d.upTo(1500 * time.Millisecond))
		c.m.HandedOff(i, h)
	default:
		c.m.HandedOff(i, h)
	}
}

func (n *noisy) Freed(i int, key string) { n.c.m.Freed(i, key) }

func (n *noisy) Subscribed(i int, on bool) {
	m := &n.masters[i]
	before, told, after := m.told, make(chan struct{}), m.dice.upTo(300*time.Millisecond)
	m.told = told
	tell := func() {
		<-before // in order, or the client would go on to think the wrong thing
		n.c.m.Subscribed(i, on)
		close(told)
	}
	if !n.c.whileFaultsLast(func() { time.Sleep(after); tell() }) {
		tell()
	}
}

// whileFaultsLast runs f in a goroutine that is waited for when the faults are over. It is false if
// they are.
func (c *simClient) whileFaultsLast(f func()) bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.over {
		return false
	}
	c.late.Go(f)
	return true
}

// plug is what connects a client to the masters.
type plug struct {
	mu    sync.Mutex
	out   bool
	conns []net.Conn
}

var errUnplugged = errors.New("no route to host")

// pull breaks all connections, and lets none be made. What masters have received, they carry out.
func (p *plug) pull() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = true
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

// push undoes pull.
func (p *plug) push() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = false
}

// pools makes a pool for each master, whose connections go through the plug.
func (p *plug) pools(fleet *redlocktest.Fleet) []*redis.Pool {
	pools := make([]*redis.Pool, len(fleet.Masters()))
	for i, m := range fleet.Masters() {
		pools[i] = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := m.Dial(ctx)
			if err != nil {
				return nil, err
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.out {
				conn.Close()
				return nil, errUnplugged
			}
			p.conns = append(p.conns, conn)
			return redis.NewConn(conn, 0, 0), nil
		}}
	}
	return pools
}
