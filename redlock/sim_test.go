package redlock_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

var (
	simSeeds = flag.Uint64("sim", 8, "how many seeds TestSim runs")
	simFirst = flag.Uint64("sim-first", 0, "the `seed` that TestSim begins with")
)

// Callers of several clients lock two names, to read or to write, one or both, and take permits. They enter locks again,
// and write under them, while masters, the network and clients fail in every way that masters in memory can.
// Package judge checks the history of each seed.
//
// Replay one seed: go test ./redlock -run 'TestSim.*/seed=17$' -count 20. A seed fixes the faults and what callers do, but
// not the library's random pauses, nor the order of goroutines at one instant.
func TestSim(t *testing.T) { simulate(t, *simFirst, *simSeeds) }

// TestSimLong is TestSim with more seeds.
func TestSimLong(t *testing.T) { simulate(t, 8, 67) }

func simulate(t *testing.T, first, seeds uint64) {
	all := &tally{had: map[string]int{}}
	t.Cleanup(func() { all.expect(t) })
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			s := &sim{seed: seed}
			defer s.judge(t, all) // also if the bubble ends the test
			synctest.Test(t, s.run)
		})
	}
}

// sim is one seed.
type sim struct {
	seed  uint64
	t     *testing.T
	fleet *redlocktest.Fleet // nil: there are several, see rollOut
	start time.Time
	over  time.Time // of the faults
	regime
	times
	record
	noise

	names    []string     // of the locks
	calls    []history.Do // that callers choose from; nil: all
	each     int          // how many callers a client has
	clients  []*simClient
	callers  sync.WaitGroup
	troubles sync.WaitGroup
	skews    map[*redlocktest.Master]time.Duration // how far their clocks are ahead; guarded by mu
}

// regime is what may go wrong in some seeds only.
type regime int

const (
	keeping    regime = iota // masters keep their data
	emptying                 // they may restart without, behind the guard
	forgetting               // they forget what they granted, and do not restart
	skewing                  // their clocks jump and drift
	stalling                 // nothing fails, but clients stall, and callers wait in line: who comes first is judged strictly
)

// times are how long things take in a seed, by the distance to the masters.
type times struct {
	trip    time.Duration // to the masters and back when all is well
	timeout time.Duration // of a node
	lease   time.Duration
	long    time.Duration // longer than most holds, and than what is wrong with a master lasts
	end     time.Duration // of the faults
	waits   time.Duration // how long callers wait for a lock at most
	think   time.Duration // how long callers are idle on average
	stays   int           // percent of visits that last
	guard   time.Duration // -1: off
}

// recovery is for how long a master's votes do not count after its clock ran ahead, at least.
const recovery = 30 * time.Second

// drawTimes draws near masters in three seeds of four, and else some that are up to 600 ms away, or 20 ms where order is
// judged; and leases of minutes, which end after everything else, in one of eight.
func drawTimes(d dice, g regime) times {
	t := times{guard: -1, think: 100 * time.Millisecond, stays: 40}
	if d.oneIn(4) {
		t.trip = d.upTo(600 * time.Millisecond)
	}
	if g == stalling {
		t.trip /= 30 // who is far away learns late that it was let in, or that what it keeps is wanted
	}
	t.timeout = 100*time.Millisecond + 2*t.trip
	t.long = 1500*time.Millisecond + 8*t.trip
	t.waits = 2*time.Second + 10*t.trip
	t.lease = t.long.Truncate(time.Millisecond)
	if d.oneIn(8) {
		t.lease = time.Minute + d.upTo(9*time.Minute).Truncate(time.Millisecond)
	}
	switch g {
	case emptying:
		t.guard = t.lease
	case skewing:
		t.guard = max(t.lease, recovery)
	}
	t.end = 2*time.Second + 16*t.trip + d.upTo(2*time.Second)
	if g == stalling {
		t.end, t.think, t.stays = t.end+5*time.Second, 40*time.Millisecond, 0
		t.waits = time.Hour // a few waits are cut short
	}
	return t
}

// dice are what one goroutine draws from.
type dice struct{ *rand.Rand }

// upTo draws from [0, most), in nanoseconds: hardly two events share an instant.
func (d dice) upTo(most time.Duration) time.Duration { return time.Duration(d.Int64N(int64(most))) }

// oneIn is true once in n draws.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// fork returns dice for another goroutine.
func (d dice) fork() dice { return dice{rand.New(rand.NewPCG(d.Uint64(), 0))} }

const simSlot = "redlock_slot:{" + workload.Semaphore + "}:"

// simSlots are the locks that are the slots of the semaphore, of which a client counts two, or three.
var simSlots = []string{simSlot + "0", simSlot + "1", simSlot + "2"}

// simClient is a client of a seed, with a wire of its own to each master.
type simClient struct {
	who string
	*redlock.Client
	callers *workload.Process
	tells   *history.Recorder
	wires   []*redlocktest.Wire
	trace   *recorder // nil: none

	stop context.CancelFunc // ends its callers
	gone bool               // it was killed: nobody hears of it any more; guarded by sim.mu
}

func (s *sim) run(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(s.seed, 0))}
	s.t, s.start = t, time.Now()
	s.regime = regime(d.IntN(4))
	trouble := s.disturb
	if s.seed%8 == 7 {
		s.regime, trouble = stalling, s.stall
	}
	s.times = drawTimes(d, s.regime)
	s.noise.dice = d.fork()
	s.skews = make(map[*redlocktest.Master]time.Duration)
	s.fleet = redlocktest.Start(t, []int{1, 3, 3, 3, 3, 3, 3, 5}[d.IntN(8)])
	s.names, s.calls, s.each = []string{"a", "b"}, drawCalls(d.fork()), 1+d.IntN(3)
	clients := 2 + d.IntN(2)
	if s.regime == stalling { // several clients stand in the queue at a time, and each has a line of its own
		s.calls, s.each, clients = []history.Do{history.Lock, history.RLock, history.LockAll, history.Acquire}, 3, 4
	}
	s.begin(fmt.Sprintf("go test ./redlock -run TestSim/seed=%d$ -sim-first %d -sim 1 -count 20", s.seed, s.seed))
	for _, m := range s.fleet.Masters() {
		m.Delay(s.trip / 2)
	}
	for i := range clients {
		s.join(d.fork(), fmt.Sprintf("c%d", i+1), i)
	}
	over := make(chan struct{})
	defer close(over)
	go s.calm(over)
	s.troubles.Go(func() { trouble(d.fork()) })
	s.troubles.Wait()
	s.own.Add(history.Event{What: history.Over})
	s.over = time.Now()
	s.callers.Wait()
	s.settle()
}

// client returns a client that is yet to be opened, and has no callers.
func (s *sim) client(who string) *simClient {
	c := &simClient{who: who}
	c.tells = history.NewRecorder(mouth{s, c}, who, s.now)
	return c
}

// join starts a client and its callers.
func (s *sim) join(d dice, who string, i int) {
	c := s.client(who)
	cfg := redlock.Config{Lease: s.lease, NodeTimeout: s.timeout, RestartGuard: s.guard}
	for _, m := range s.fleet.Masters() {
		w := m.Wire()
		c.wires = append(c.wires, w)
		cfg.Pools = append(cfg.Pools, &redis.Pool{MaxIdle: 8, DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := w.Dial(ctx)
			if err != nil {
				return nil, err
			}
			return s.noisy(m, redis.NewConn(conn, 0, 0)), nil
		}})
	}
	if keep := (dice{rand.New(rand.NewPCG(s.seed, uint64(1+i)))}); keep.oneIn(2) {
		cfg.Keep = keep.upTo(600 * time.Millisecond).Truncate(time.Millisecond)
	}
	cfg.Trace = workload.TraceQueue(c.tells.Add)
	if d.oneIn(6) && s.regime != stalling {
		c.trace = new(recorder)
		cfg.Trace = c.trace.trace()
	}
	s.own.Add(history.Event{What: history.Started, Who: who, Keep: cfg.Keep})
	c.Client = open(s.t, s.fleet, cfg)
	s.mu.Lock()
	s.clients = append(s.clients, c)
	s.mu.Unlock()
	s.employ(c, d.Uint64(), 2+i%2)
	ending, stop := context.WithTimeout(context.Background(), s.end-s.now())
	c.stop = stop
	s.callers.Go(func() {
		defer stop()
		c.callers.Serve(context.Background(), ending.Done())
	})
}

// employ gives a client its callers.
func (s *sim) employ(c *simClient, seed uint64, permits int) {
	c.callers = workload.New(workload.Config{
		Who: c.who, Seed: seed, Lease: s.lease, MaxLease: s.lease,
		Callers: s.each, Think: s.think, Waits: s.waits, Stays: s.stays, Names: s.names, Permits: permits, Only: s.calls,
	}, workload.Of(c.Client, s.lease), c.tells)
}

// calm checks, until over is closed, that no master is asked too often: a client that wakes itself, or asks again without
// a pause, passes all other checks.
func (s *sim) calm(over <-chan struct{}) {
	most := int64(400) // a busy seed comes to 300
	if s.regime == stalling {
		most = 600 // more callers than in any other, and none of them stays: 410
	}
	before := make(map[*redlocktest.Master]int64)
	for {
		for _, m := range s.fleet.Masters() {
			asked := m.Commands()
			check.AtMost(s.t, asked-before[m], most, "%v: in a second, %s was asked", time.Since(s.start), m.Name())
			before[m] = asked
		}
		select {
		case <-time.After(time.Second):
		case <-over:
			return
		}
	}
}

// settle checks that all is well again: what was given back is free, each client gets what it asks for at once, and
// nothing is left in the end.
func (s *sim) settle() {
	vanished := false
	for _, c := range s.clients {
		vanished = vanished || c.gone
	}
	time.Sleep(s.long - 300*time.Millisecond)
	if !vanished {
		s.expectFree()
	}
	if vanished || s.regime == emptying {
		// The guard of a master that restarted last, or was promoted, which an idle client finds out with its next check.
		time.Sleep(s.lease + s.lease/100 + time.Second + 4*s.trip + min(s.lease, 18*time.Second))
	}
	if vanished {
		time.Sleep(11 * time.Second) // a queue is kept for 10 s
	}
	if s.regime == skewing {
		time.Sleep(recovery + s.guard)
	}
	for _, c := range s.clients {
		if !c.gone {
			s.last(c)
		}
	}
	for _, c := range s.clients {
		s.leave(c)
		if c.trace != nil {
			c.trace.expectSound(s.t)
		}
	}
	synctest.Wait()
	for _, m := range s.fleet.Masters() {
		s.own.Add(history.Event{What: history.Audited, Who: m.Name(), Left: s.left(m)})
	}
}

// leave closes a client, unless it was killed.
func (s *sim) leave(c *simClient) {
	if c.gone {
		return
	}
	expect(s.t, "Close of "+c.who, c.callers.Close())
	s.own.Add(history.Event{What: history.Audited, Who: c.who}) // a bubble has no goroutines that are left
	s.own.Add(history.Event{What: history.Exited, Who: c.who})
}

// last checks that c gets each kind of hold at once.
func (s *sim) last(c *simClient) {
	// A round trip, one more for a master that lacks the script, and some for the token: twice, for an idle client that
	// finds out only now that a master was a replica.
	for _, do := range []history.Do{history.Lock, history.RLock, history.Acquire} {
		ctx := within(s.t, context.Background(), 2*(s.timeout+6*s.trip))
		expect(s.t, fmt.Sprintf("%s of %s when all is well", do, c.who), c.callers.LineUp(ctx, do))
	}
}

// expectFree checks that nothing is held any more, before a lease can have ended.
func (s *sim) expectFree() {
	for _, m := range s.fleet.Masters() {
		for _, key := range s.left(m) {
			check.That(s.t, strings.HasPrefix(key, "redlock_"), "%s has %s before its lease can have ended", m.Name(), key)
		}
	}
}

// left returns what is left of locks and queues on a master. One that forgot a lock may keep its readers for their lease.
func (s *sim) left(m *redlocktest.Master) (list []string) {
	for _, name := range append([]string{"a", "b"}, simSlots...) {
		if hash := m.Hash(name); hash != nil {
			list = append(list, fmt.Sprintf("%s %v", name, hash))
		}
		of := "{" + name + "}"
		if slot, ok := strings.CutPrefix(name, "redlock_slot:"); ok {
			of = slot
		}
		for _, key := range []string{"redlock_wait:" + of, "redlock_read:" + of} {
			if set := m.ZSet(key); set != nil && s.regime != forgetting {
				list = append(list, fmt.Sprintf("%s %v", key, set))
			}
		}
	}
	return list
}

// drawCalls draws all kinds of calls or, in a third of the seeds, one to three kinds, which then happen often.
func drawCalls(d dice) []history.Do {
	if !d.oneIn(3) {
		return nil
	}
	all := []history.Do{
		history.Lock, history.TryLock, history.LockFor, history.RLock, history.TryRLock, history.LockAll,
		history.Acquire, history.TryAcquire,
	}
	d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:1+d.IntN(3)]
}
