package multilock

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// simClient is a client whose callers wait for the lock in a line, as those of package
// redlock do: the first bids, and a release enters the next.
type simClient struct {
	i     int
	m     *Masters
	lease time.Duration
	skew  time.Duration // of its clock

	mu    sync.Mutex
	turns []*simTurn
	bid   *Bid      // of the first
	stall time.Time // until when it neither asks nor hears
}

type simTurn struct {
	since clock.Instant
	first chan struct{} // closed when it is the first
}

// newClient makes a client. All but one hear the masters through noise.
func (s *bidSim) newClient(i int) *simClient {
	c := &simClient{i: i, m: s.client(), lease: s.lease, skew: s.upTo(2*time.Hour) - time.Hour}
	if i != 1 {
		c.m.mu.Lock()
		c.m.listening = true
		c.m.mu.Unlock()
		for k, n := range c.m.nodes {
			n.Subscribe(c.m.id, &noisy{c: c, s: s}, k)
		}
	}
	return c
}

func (c *simClient) join() *simTurn {
	turn := &simTurn{since: clock.Now().Add(c.skew), first: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns = append(c.turns, turn)
	if len(c.turns) == 1 {
		close(turn.first)
	}
	return turn
}

// wait waits for the lock. Now and then Wait is interrupted, and called again.
func (c *simClient) wait(ctx context.Context, s *bidSim, turn *simTurn) (Grant, bool) {
	select {
	case <-turn.first:
	case <-ctx.Done():
		return Grant{}, false
	}
	c.mu.Lock()
	bid := c.bid
	if bid == nil {
		bid = c.newBid()
		c.mu.Unlock()
		bid.Ask()
	} else {
		c.mu.Unlock()
	}
	for ctx.Err() == nil {
		enter := make(chan struct{}, 1)
		interrupt := time.AfterFunc(s.upTo(400*time.Millisecond), func() { enter <- struct{}{} })
		g, won := bid.Wait(ctx, enter, nil)
		interrupt.Stop()
		if won {
			return g, true
		}
		bid.Failure(ctx.Err()) // another caller may ask at any time
		if s.upTo(3) == 0 && !s.noise.ended() {
			// As when the process is stopped: it does not ask, and its messages wait.
			d := s.upTo(1200 * time.Millisecond)
			c.mu.Lock()
			c.stall = time.Now().Add(d)
			c.mu.Unlock()
			time.Sleep(d)
		}
	}
	return Grant{}, false
}

// newBid makes the bid of the first. c.mu is held.
func (c *simClient) newBid() *Bid {
	c.bid = c.m.NewBid(Wanted{Key: "k", Lease: c.lease, Since: c.turns[0].since})
	return c.bid
}

// next returns the bid to name in a release, nil if there is none. c.mu is held.
func (c *simClient) next() *Bid {
	if len(c.turns) == 0 || c.bid != nil || !c.m.Hears() {
		return nil
	}
	return c.newBid()
}

// release gives back what turn won, or a try did, to the next in line if there is one.
func (c *simClient) release(claim Claim, turn *simTurn) {
	c.mu.Lock()
	if turn != nil {
		c.bid = nil
		c.turns = c.turns[1:]
		if len(c.turns) > 0 {
			close(c.turns[0].first)
		}
	}
	next := c.next()
	c.mu.Unlock()
	if next != nil {
		c.m.ReleaseTo(claim, next)
	} else {
		c.m.Release(claim, 0)
	}
}

// leave takes a caller that has not won out of the line.
func (c *simClient) leave(turn *simTurn) {
	c.mu.Lock()
	i := slices.Index(c.turns, turn)
	c.turns = slices.Delete(c.turns, i, i+1)
	var bid, next *Bid
	if i == 0 {
		bid, c.bid = c.bid, nil
		if len(c.turns) > 0 {
			close(c.turns[0].first)
			if bid != nil {
				next = c.next()
			}
		}
	}
	c.mu.Unlock()
	if bid != nil {
		bid.GiveUp(next)
	}
}

// noise is what happens to messages: they are lost, late and doubled, until it ends.
type noise struct {
	mu   sync.Mutex
	over bool
	late sync.WaitGroup
}

func (n *noise) end() {
	n.mu.Lock()
	n.over = true
	n.mu.Unlock()
	n.late.Wait()
}

func (n *noise) ended() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.over
}

// noisy is the ear of a client in the noise.
type noisy struct {
	c *simClient
	s *bidSim
}

func (e *noisy) HandedOff(i int, p script.HandOff) {
	n, m := &e.s.noise, e.c.m
	n.mu.Lock()
	defer n.mu.Unlock()
	later := func(d time.Duration) {
		n.late.Go(func() {
			time.Sleep(d)
			m.HandedOff(i, p)
		})
	}
	if stall := e.c.stalled(); stall > 0 {
		later(max(0, stall+e.s.upTo(200*time.Millisecond)-50*time.Millisecond))
		return
	}
	fate := e.s.upTo(12)
	if n.over {
		fate = 11
	}
	switch fate {
	case 0: // lost
	case 1, 2:
		later(e.s.upTo(1500 * time.Millisecond))
	case 3: // twice
		later(e.s.upTo(1500 * time.Millisecond))
		m.HandedOff(i, p)
	default:
		m.HandedOff(i, p)
	}
}

// stalled returns how long the client still neither asks nor hears.
func (c *simClient) stalled() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.stall)
}

func (e *noisy) Freed(i int, key string)      { e.c.m.Freed(i, key) }
func (e *noisy) Subscribed(i int, works bool) { e.c.m.Subscribed(i, works) }
