package multilock

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/redlocktest"
)

// TestSimBid has clients with lines of callers bid for one lock, give up, and try it
// without waiting, while masters die, restart empty, hang, are cut off and slow, and while
// messages are lost, late and doubled. Clients' clocks are an hour apart.
//
// No two callers may hold the lock at once. When the faults are over, each caller that
// waits gets the lock in time, and nothing is left on any master in the end.
//
// Replay one seed: go test ./multilock -run 'TestSimBid/seed=17$' -v -bidseeds 18. The seed settles the
// faults and what callers do, not the random pauses of the package itself.
func TestSimBid(t *testing.T) {
	for seed := range portion(*bidSeeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulateBids(t, seed) })
		})
	}
}

var bidSeeds = flag.Uint64("bidseeds", 75, "how many seeds TestSimBid runs")

const bidStorm = 6 * time.Second // of faults

// bidSim is the simulation, with the masters, the storm and the check of sim.
type bidSim struct {
	*sim
	t     *testing.T
	noise noise
	token int64 // of the last hold
}

func simulateBids(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	n := []int{1, 2, 3, 3, 3, 3, 4, 5}[r.IntN(8)]
	s := &bidSim{
		sim: &sim{fleet: redlocktest.Start(t, n), start: time.Now(), end: bidStorm, calm: 400 * time.Millisecond, rand: r},
		t:   t,
	}
	s.distance()
	// As in TestSim: leases that end in the middle of things, or not. In the first kind of
	// seed masters may forget, behind a guard; in the second they need none.
	s.work = 300 * time.Millisecond
	s.lease, s.guard = time.Hour, 0
	switch {
	case seed%8 == 1:
		s.lease = 150*time.Millisecond + 4*s.trip
		s.guard = s.lease
	case seed%8 == 3:
		s.lease = time.Minute + s.upTo(9*time.Minute)
		s.guard = s.lease
	case seed%2 == 1:
		s.lease = 1200*time.Millisecond + 4*s.trip
		s.guard = s.lease
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, e := range s.events {
				t.Log(e)
			}
		}
	})
	var callers, storm sync.WaitGroup
	var clients []*simClient
	for i := range 2 + int(s.upTo(3)) {
		c := s.newClient(i)
		clients = append(clients, c)
		for range 1 + s.upTo(3) {
			callers.Go(func() { s.call(c) })
		}
	}
	storm.Go(s.storm)
	callers.Wait()
	storm.Wait()
	s.noise.end()
	// A master that restarted empty may vote again after its guard.
	if s.guard > 0 {
		time.Sleep(s.guard + clock.Drift(s.guard) + time.Second)
	}
	s.last(clients)

	time.Sleep(2*time.Second + 4*s.trip)
	b := bench{Fleet: s.fleet}
	for i, m := range s.fleet.Masters() {
		if h, q := m.Holder("k"), b.queues()[i]; h != "" || q != "" {
			t.Errorf("%s still has the holder %q and the queue %q", m.Name(), h, q)
		}
	}
	for _, c := range clients {
		c.m.mu.Lock()
		if len(c.m.owners) > 0 {
			t.Errorf("client %d remembers %d bids, want none", c.i, len(c.m.owners))
		}
		c.m.mu.Unlock()
		c.m.Close()
	}
	if s.grants == 0 {
		t.Error("nobody ever got the lock")
	}
}

// last has each caller lock once more, without giving up, from the moment that all is well.
func (s *bidSim) last(clients []*simClient) {
	const each = 2
	start := time.Now()
	var callers sync.WaitGroup
	for _, c := range clients {
		for range each {
			callers.Go(func() {
				ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
				defer cancel()
				turn := c.join()
				if g, won := c.wait(ctx, s, turn); won {
					s.use(c, g, turn)
					return
				}
				s.note("client %d gives up the last bid", c.i)
				s.t.Errorf("client %d: a bid was not won in a minute when all was well", c.i)
				c.leave(turn)
			})
		}
	}
	callers.Wait()
	// Each waits at most as long as the lock may be passed to a caller that is gone, and works
	// for up to ten times what s.use draws, with a renewal each time.
	passed := 2*lastAsk + 8*s.trip
	most := time.Duration(each*len(clients)) * (passed + 5*s.work + 4*s.trip)
	if took := time.Since(start); took > most {
		s.t.Errorf("the last bids took %v, want %v at most", took, most)
	}
}

// call locks, over and over, in one way or the other.
func (s *bidSim) call(c *simClient) {
	for time.Since(s.start) < s.end {
		if s.upTo(10) < 2 {
			s.try(c)
			continue
		}
		d := s.upTo(1500*time.Millisecond + 10*s.trip)
		if s.upTo(4) == 0 {
			d = s.upTo(60 * time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(s.t.Context(), d)
		turn := c.join()
		g, won := c.wait(ctx, s, turn)
		cancel()
		if !won {
			c.leave(turn)
			time.Sleep(s.upTo(50 * time.Millisecond))
			continue
		}
		s.use(c, g, turn)
		time.Sleep(s.upTo(50 * time.Millisecond))
	}
}

// try acquires without waiting, beside those who wait.
func (s *bidSim) try(c *simClient) {
	g, err := c.m.Acquire(Request{
		Owner: c.m.NewOwner("k"), Lease: s.lease, Count: 1, Proposal: time.Now().UnixMicro(),
	}).Wait(s.t.Context())
	if err != nil {
		time.Sleep(s.upTo(300 * time.Millisecond))
		return
	}
	s.use(c, g, nil)
}

// order checks that the token of a hold is larger than that of the one before.
func (s *bidSim) order(owner string, token int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token <= s.token {
		s.events = append(s.events, fmt.Sprintf("%v: %s has token %d after %d", time.Since(s.start), owner, token, s.token))
		s.t.Errorf("%s has token %d, want one above %d", owner, token, s.token)
	}
	s.token = token
}

// use holds the lock for a while, as long as it is valid, and gives it back: to the next
// caller of the client, to nobody in particular, or not at all.
func (s *bidSim) use(c *simClient, g Grant, turn *simTurn) {
	if clock.Until(g.Until) <= 0 { // it was won while the client was stalled
		c.release(g.Claim, turn)
		return
	}
	s.hold(s.t, g.ID, g.Until)
	s.order(g.ID, g.Token)
	until := g.Until
	renew := s.upTo(3) > 0
	if !renew {
		time.Sleep(min(s.upTo(4*s.work), clock.Until(until)))
	}
	for renew {
		time.Sleep(min(s.upTo(s.work), 20*time.Millisecond))
		a := newAsked("k", g.ID)
		a.Token = g.Token
		c.m.Renew(s.lease, []Renewal{a})
		g.At = c.m.All()
		left, renewed := (<-a.told).(time.Duration)
		if !renewed || clock.Until(until) <= 0 {
			break // a confirmation after the end of validity is none
		}
		if now := clock.Now(); left > now.Left(until) {
			until = now.Add(left)
		}
		s.hold(s.t, g.ID, until)
		time.Sleep(s.upTo(s.work))
		renew = s.upTo(10) < 3
	}
	s.letGo(g.ID)
	c.release(g.Claim, turn)
}
