package multilock

import (
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// TestSim has clients fight for one lock while masters die, restart empty, hang and are
// cut off, on a network with random delays. No two of them may hold it at once, and
// nothing may be left on any master in the end.
//
// Replay one seed: go test ./multilock -run 'TestSim/seed=17$' -v
func TestSim(t *testing.T) {
	for seed := range portion(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

var seeds = flag.Uint64("seeds", 150, "how many seeds TestSim runs")

const simTime = 12 * time.Second

type sim struct {
	fleet *redlocktest.Fleet
	start time.Time
	end   time.Duration // of the faults, after start
	lease time.Duration
	guard time.Duration
	work  time.Duration // how long a client holds the lock, at most
	calm  time.Duration // between two faults, at most
	trip  time.Duration // to the masters and back when all is well

	mu     sync.Mutex
	rand   *rand.Rand
	owners int
	holder string        // who holds the lock by its own reckoning
	until  clock.Instant // and until when
	grants int
	events []string
}

func simulate(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &sim{fleet: redlocktest.Start(t, 2*r.IntN(3)+1), start: time.Now(), end: simTime, calm: 600 * time.Millisecond, rand: r}
	// Every other seed has leases that end in the middle of things, the rest leases so
	// long that what is left behind is still there in the end.
	s.lease, s.work = time.Second, 600*time.Millisecond
	if seed%2 == 0 {
		s.lease = time.Hour
	}
	s.distance()
	if s.lease < simTime {
		s.lease += 4 * s.trip
	}
	s.guard = s.lease
	t.Cleanup(func() {
		if t.Failed() {
			for _, e := range s.events {
				t.Log(e)
			}
		}
	})
	var clients sync.WaitGroup
	var all []*Masters
	for i := range 2 + r.IntN(3) {
		m := s.client()
		all = append(all, m)
		clients.Go(func() { s.fight(t, i, m) })
	}
	var storm sync.WaitGroup
	storm.Go(s.storm)
	clients.Wait()
	storm.Wait()

	// Everything is well again: what is owed is delivered within two seconds and a few round
	// trips, far sooner than leases end.
	time.Sleep(2*time.Second + 10*s.trip)
	for _, m := range s.fleet.Masters() {
		if h := m.Holder("k"); h != "" {
			s.note("%s still has %s", m.Name(), h)
			t.Errorf("%s still has %s", m.Name(), h)
		}
	}
	for _, m := range all {
		m.Close()
	}
	if s.grants == 0 {
		t.Error("nobody ever got the lock")
	}
}

// distance puts the masters next door, or up to 600 ms away, there and back.
func (s *sim) distance() {
	if s.upTo(3) > 0 {
		return
	}
	s.trip = s.upTo(600 * time.Millisecond)
	s.end += 80 * s.trip
	s.calm += 10 * s.trip // to connect takes some round trips
	for _, m := range s.fleet.Masters() {
		m.Delay(s.trip / 2)
	}
}

func (s *sim) client() *Masters {
	var nodes []*node.Node
	for i, pool := range s.fleet.Pools() {
		nodes = append(nodes, node.New(node.Config{
			Name:    s.fleet.Master(i).Name(),
			Pool:    pool,
			Timeout: timeout + 2*s.trip,
			Guard:   s.guard,
			Logger:  slog.New(slog.DiscardHandler),
		}))
	}
	return New(nodes)
}

// fight takes the lock, uses it and gives it back, over and over.
func (s *sim) fight(t *testing.T, client int, m *Masters) {
	for time.Since(s.start) < s.end {
		req := request("k", s.owner(client))
		req.Lease = s.lease - s.upTo(s.lease/2)
		g, err := m.Acquire(req).Wait(t.Context())
		if err != nil {
			time.Sleep(s.upTo(400 * time.Millisecond))
			continue
		}
		s.hold(t, req.Owner.ID, g.Until)
		until := g.Until
		for s.upTo(10) < 6 {
			time.Sleep(s.upTo(s.work))
			a := newAsked("k", req.Owner.ID)
			m.Renew(s.lease, []Renewal{a})
			g.At = m.All()
			left, renewed := (<-a.told).(time.Duration)
			if !renewed || clock.Until(until) <= 0 {
				break // a confirmation after the end of validity is none
			}
			until = clock.Now().Add(left)
			s.hold(t, req.Owner.ID, until)
		}
		s.letGo(req.Owner.ID)
		m.Release(g.Claim, 0)
		time.Sleep(s.upTo(100 * time.Millisecond))
	}
}

// hold notes that owner believes to hold the lock until then.
func (s *sim) hold(t *testing.T, owner string, until clock.Instant) {
	s.note("%s holds for %v", owner, clock.Until(until))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder != "" && s.holder != owner && clock.Until(s.until) > 0 {
		t.Errorf("%v: %s holds the lock beside %s", time.Since(s.start), owner, s.holder)
	}
	s.holder, s.until = owner, until
	s.grants++
}

func (s *sim) letGo(owner string) {
	s.note("%s lets go", owner)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holder == owner {
		s.holder = ""
	}
}

// storm breaks masters, never for good, and mends them all in the end.
func (s *sim) storm() {
	masters := s.fleet.Masters()
	time.Sleep(10 * s.trip) // until clients have connected
	for time.Since(s.start) < s.end {
		time.Sleep(s.upTo(s.calm))
		m := masters[s.upTo(time.Duration(len(masters)))]
		m.Delay(s.trip/2 + s.upTo(40*time.Millisecond+s.trip/4))
		switch s.upTo(8) {
		case 0:
			s.note("%s is killed", m.Name())
			m.Kill()
		case 1:
			if s.lease < s.end { // else its guard would last for the rest of the seed
				s.note("%s restarts empty", m.Name())
				m.Restart()
				break
			}
			fallthrough
		case 2:
			s.note("%s restarts", m.Name())
			m.RestartWithData()
		case 3:
			s.note("%s is frozen", m.Name())
			m.Freeze()
		case 4:
			s.note("%s is cut off", m.Name())
			m.Cut()
		default:
			s.mend(m)
		}
	}
	for _, m := range masters {
		m.Delay(s.trip / 2)
		s.mend(m)
	}
}

func (s *sim) mend(m *redlocktest.Master) {
	s.note("%s is mended", m.Name())
	m.Thaw()
	m.Mend()
	if !m.Alive() {
		m.RestartWithData()
	}
}

func (s *sim) owner(client int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners++
	return id(fmt.Sprintf("c%d:%d", client, s.owners))
}

// upTo draws from [0, d), in nanoseconds: hardly two events share an instant.
func (s *sim) upTo(d time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.rand.Int64N(int64(d)))
}

func (s *sim) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%v: ", time.Since(s.start))+fmt.Sprintf(format, args...))
}
