package node

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestSim: whatever happens to a master, each command is answered exactly once and in
// time, and when all is well again nothing is left there of an owner that was released
// or that was told that its acquire did not get there.
//
// Replay one seed: go test ./node -run 'TestSim.*/seed=17$' -v
func TestSim(t *testing.T) { simulations(t, 0, 30) }

// TestSimLong is TestSim with more seeds.
func TestSimLong(t *testing.T) { simulations(t, 30, 270) }

func simulations(t *testing.T, first, seeds uint64) {
	for seed := first; seed < first+seeds; seed++ {
		subtest(t, fmt.Sprintf("seed=%d", seed), func(t *testing.T, m *redlocktest.Master, cfg Config) { simulate(t, m, cfg, seed) })
	}
}

func simulate(t *testing.T, m *redlocktest.Master, cfg Config, seed uint64) {
	begin := time.Now()
	n := start(t, cfg)
	const clients = 3
	all := make([]*simClient, clients)
	var running sync.WaitGroup
	for i := range all {
		all[i] = &simClient{
			node:   n,
			name:   fmt.Sprint("client", i),
			random: rand.New(rand.NewPCG(seed, uint64(i)+1)),
		}
		running.Go(all[i].run)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	faults := simFaults(m, random)
	for range 30 {
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		fault := faults[random.IntN(len(faults))]
		fault.do()
		t.Logf("%8.3fs %s", time.Since(begin).Seconds(), fault.name)
	}
	running.Wait()
	m.Mend()
	m.Thaw()
	m.Delay(0)
	if !m.Alive() {
		m.RestartWithData()
	}
	time.Sleep(5 * time.Second)
	for _, s := range all { // give back what may be held
		for _, o := range s.owners {
			if o.mayHold() {
				s.release(o)
			}
		}
	}
	time.Sleep(5 * time.Second)

	if why := n.Ready(); why != nil {
		t.Errorf("in the end it is not ready: %v", why)
	}
	wantEqual(t, "unacknowledged in the end", n.unackedCount(), 0)
	for _, s := range all {
		for _, p := range s.sent {
			got := p.look()
			if got.times != 1 || got.after > longestAnswer {
				t.Errorf("%s: answered %d times, after %v (%v), want once, within %v", p.name, got.times, got.after, got.Err, longestAnswer)
			}
		}
	}
	for _, key := range m.Keys() {
		if owner := m.Holder(key); owner != "" {
			t.Errorf("left of %s at %s in the end: %v", owner, key, m.Hash(key))
		}
	}
}

// longestAnswer is how long an answer may take: a command waits for a connection, and then for the master.
const longestAnswer = 2 * timeout

// simFaults are what may happen to the master next, some of it twice as often.
func simFaults(m *redlocktest.Master, random *rand.Rand) []simFault {
	upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d))) }
	return []simFault{
		{"kill", m.Kill},
		{"restart with data", m.RestartWithData},
		{"restart with data", m.RestartWithData},
		{"restart", m.Restart},
		{"freeze", m.Freeze},
		{"freeze", m.Freeze},
		{"thaw", m.Thaw},
		{"thaw", m.Thaw},
		{"cut", m.Cut},
		{"mend", m.Mend},
		{"delay", func() { m.Delay(upTo(timeout)) }},
		{"no delay", func() { m.Delay(0) }},
		{"flush scripts", m.FlushScripts},
		{"refuse, and refuse no more", func() {
			m.Refuse("MISCONF no disk")
			time.Sleep(upTo(time.Second))
			m.Refuse("")
		}},
	}
}

type simFault struct {
	name string
	do   func()
}

// simClient sends commands at random.
type simClient struct {
	node   *Node
	name   string
	random *rand.Rand
	seq    int
	sent   []*pending
	owners []*ownership
}

// ownership is an acquire, as its sender knows it.
type ownership struct {
	key, owner string
	acquire    *pending
	released   bool
}

// mayHold reports whether the owner may have its lock and has not given it back.
func (o *ownership) mayHold() bool {
	got := o.acquire.look()
	return !o.released && (got.times == 0 || got.Outcome.MayHold())
}

func (s *simClient) send(name string, cmd *script.Command) *pending {
	p := send(s.node, cmd)
	p.name = s.name + ": " + name
	s.sent = append(s.sent, p)
	return p
}

func (s *simClient) run() {
	for range 60 {
		time.Sleep(time.Duration(s.random.Int64N(int64(150 * time.Millisecond))))
		held := slices.DeleteFunc(slices.Clone(s.owners), func(o *ownership) bool { return !o.mayHold() })
		switch choice := s.random.IntN(10); {
		case choice < 5:
			s.acquire()
		case choice < 7 && len(held) > 0:
			s.release(held[s.random.IntN(len(held))])
		case choice < 9 && len(held) > 0:
			s.renew(held)
		default:
			s.send("inspect", script.Inspect(s.key()))
		}
	}
}

func (s *simClient) key() string { return fmt.Sprint("key", s.random.IntN(4)) }

// acquire takes a lock for a new owner, for far longer than the simulation lasts.
func (s *simClient) acquire() {
	s.seq++
	o := &ownership{key: s.key(), owner: fmt.Sprintf("%s:%d", s.name, s.seq)}
	o.acquire = s.send("acquire "+o.owner, script.NewOwner(o.key, o.owner).Acquire(time.Hour, 1))
	s.owners = append(s.owners, o)
	if s.random.IntN(3) == 0 {
		s.release(o)
	}
}

func (s *simClient) release(o *ownership) {
	o.released = true
	s.send("release "+o.owner, script.NewOwner(o.key, o.owner).Release(1, 0))
}

// renew renews, and heals, what has an answer: what was never sent must not be healed.
func (s *simClient) renew(held []*ownership) {
	var holds []script.Renewal
	for _, o := range held {
		if o.acquire.look().times > 0 {
			holds = append(holds, script.Renewal{Owner: script.NewOwner(o.key, o.owner), Count: 1, Token: 1})
		}
	}
	if len(holds) > 0 {
		s.send(fmt.Sprintf("renew %d holds", len(holds)), script.Renew(time.Hour, holds))
	}
}
