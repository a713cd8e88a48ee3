package multilock

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tally"
	"example.com/redlock/redlocktest"
)

// TestSim has the callers of several clients lock two names in every way there is, as readers and as
// writers, and take permits of two semaphores of the same names, of which clients count two or three,
// while masters
// die, restart empty, freeze, are cut off and slow, while hand-offs are lost, late and doubled, and
// subscriptions are noticed late, while clients are unplugged, vanish and sleep, and their clocks
// jump by an hour.
//
// No caller may hold a name beside a writer, nor a slot beside another, by their own validity. The
// tokens of writers and of slots grow, and those of readers lie between. Calls return
// when their contexts end. When the faults are over, each caller that waits is served in time, and
// in the end nothing is left at any master or in any client.
//
// Beside TestSim of package redlock it reaches what happens between a client and its messages, and
// what happens to its clock.
//
// Replay one seed: go test ./multilock -run 'TestSim/seed=17$' -v -seeds 18. The seed settles the
// faults and what callers do, not the random pauses of the package itself, nor the order of
// goroutines at one instant.
func TestSim(t *testing.T) {
	all := tally.New(simWanted[:])
	t.Cleanup(func() { all.Expect(t) })
	for seed := range portion(*seeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, all) })
		})
	}
}

var seeds = flag.Uint64("seeds", 120, "how many seeds TestSim runs")

// dice are what one goroutine draws from.
type dice struct{ *rand.Rand }

// upTo draws from [0, d), in nanoseconds: hardly two events share an instant.
func (d dice) upTo(most time.Duration) time.Duration { return time.Duration(d.Int64N(int64(most))) }

// oneIn is true once in n draws.
func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// sim is one seed.
type sim struct {
	t       *testing.T
	dice    dice // of the goroutine that begins the others
	fleet   *redlocktest.Fleet
	clients []*simClient
	start   time.Time
	simTimes

	mu   sync.Mutex
	over bool // the faults are
	simHolds
	entries []*simEntry
	events  []string
	tally   [simEvents]int // how often each event happened
}

// simTimes are how long things take in a seed.
type simTimes struct {
	trip  time.Duration // to the masters and back when all is well
	lease time.Duration
	guard time.Duration // of masters that restart empty, 0 where none does
	brief bool          // leases end in the middle of things, so clients may vanish for good
	work  time.Duration // how long a caller works between two looks at its hold, at most
	calm  time.Duration // between two faults, at most
	end   time.Duration // of the faults, after the start
}

// drawTimes has masters next door in two seeds of three, and else up to 600 ms away.
//
// In half of the seeds leases are so long that what is left behind is still there in the end. In
// the others they end in the middle of things, and masters may forget, behind a guard.
func drawTimes(seed uint64, d dice) simTimes {
	times := simTimes{work: 300 * time.Millisecond, calm: 400 * time.Millisecond, end: 6 * time.Second}
	if d.oneIn(3) {
		times.trip = d.upTo(600 * time.Millisecond)
		times.end += 80 * times.trip
		times.calm += 10 * times.trip // to connect takes some round trips
	}
	switch {
	case seed%8 == 1:
		times.lease, times.brief = 150*time.Millisecond+4*times.trip, true
	case seed%8 == 3:
		times.lease = time.Minute + d.upTo(9*time.Minute)
	case seed%2 == 1:
		times.lease, times.brief = 1200*time.Millisecond+4*times.trip, true
	default:
		times.lease = 10 * time.Minute
	}
	times.lease = times.lease.Truncate(time.Millisecond)
	if seed%2 == 1 {
		times.guard = times.lease
	}
	return times
}

// timeout is that of the nodes.
func (s *simTimes) timeout() time.Duration { return timeout + 2*s.trip }

func simulate(t *testing.T, seed uint64, all *tally.Total) {
	d := dice{rand.New(rand.NewPCG(seed, 0))}
	s := &sim{
		t:        t,
		dice:     d,
		fleet:    redlocktest.Start(t, []int{1, 2, 3, 3, 3, 3, 4, 5}[d.IntN(8)]),
		start:    time.Now(),
		simTimes: drawTimes(seed, d),
		simHolds: simHolds{live: make(map[target][]*Hold), tokens: make(map[simCounter]simTokens)},
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, e := range s.events {
				t.Log(e)
			}
		}
	})
	for _, m := range s.fleet.Masters() {
		m.Delay(s.trip / 2)
	}
	var faults, callers sync.WaitGroup
	for i := range 2 + d.IntN(3) {
		c := s.newClient(i)
		s.clients = append(s.clients, c)
		for range 1 + d.IntN(3) {
			s.in(&callers, func(d dice) { s.call(d, c) })
		}
		s.in(&faults, func(d dice) { s.disturb(d, c) })
	}
	s.in(&faults, s.storm)
	faults.Wait()
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	for _, c := range s.clients {
		c.late.Wait()
	}
	if s.guard > 0 {
		time.Sleep(s.guard + clock.Drift(s.guard) + time.Second) // then who restarted empty votes again
	}
	callers.Wait()
	s.served()

	time.Sleep(2*time.Second + 4*s.trip)
	s.wantFree("in the end, of a client that is there", false)
	if s.brief {
		time.Sleep(max(2*s.lease, 11*time.Second)) // a queue is kept for 10 s
		s.wantFree("once all leases are over", true)
	}
	for _, c := range s.clients {
		if err := c.m.Close(); err != nil {
			t.Errorf("Close of client %d = %v", c.i, err)
		}
		if !c.vanished {
			wantForgotten(t, fmt.Sprintf("client %d, closed", c.i), c.m)
		}
	}
	for _, e := range s.entries {
		if told := e.told(); e.granted && len(told) != 1 || !e.granted && len(told) > 0 {
			t.Errorf("an entry (granted: %v) was told %v", e.granted, told)
		}
	}
	if s.tally[granting] == 0 {
		t.Error("nobody ever got a lock")
	}
	all.Add(s.tally[:])
}

// in runs f in a goroutine of wg, with dice of its own.
func (s *sim) in(wg *sync.WaitGroup, f func(d dice)) {
	d := dice{rand.New(rand.NewPCG(s.dice.Uint64(), 0))}
	wg.Go(func() { f(d) })
}

func (s *sim) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%v: ", time.Since(s.start))+fmt.Sprintf(format, args...))
}

// healed reports whether the faults are over.
func (s *sim) healed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// storm breaks masters, never for good, and mends them all in the end.
func (s *sim) storm(d dice) {
	time.Sleep(10 * s.trip) // until clients have connected
	for time.Since(s.start) < s.end {
		time.Sleep(d.upTo(s.calm))
		m := s.fleet.Master(d.IntN(len(s.fleet.Masters())))
		m.Delay(s.trip/2 + d.upTo(40*time.Millisecond+s.trip/4))
		switch d.IntN(8) {
		case 0:
			s.note("%s is killed", m.Name())
			m.Kill()
		case 1:
			if s.guard > 0 && s.guard < s.end { // else its guard would last for the rest of the seed
				s.note("%s restarts empty", m.Name())
				s.count(emptying)
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
	for _, m := range s.fleet.Masters() {
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

// call locks, over and over, in one way or the other.
func (s *sim) call(d dice, c *simClient) {
	for time.Since(s.start) < s.end {
		s.lock(d, c)
		time.Sleep(d.upTo(50 * time.Millisecond))
	}
}

// lock locks once, and uses what it got.
func (s *sim) lock(d dice, c *simClient) {
	e := s.newEntry()
	req := Request{Key: "k", Lease: s.lease, Wait: true, Watch: d.oneIn(2), Entry: e}
	if d.oneIn(3) {
		req.Key = "l"
	}
	switch d.IntN(6) {
	case 0, 1:
		req.Shared = true
	case 2:
		req.Permits = c.permits()
	}
	if d.oneIn(3) && req.Permits == 0 {
		req.Owner = c
	}
	ctx, cancel := context.Context(c.life), context.CancelFunc(func() {})
	begun, bound := time.Now(), time.Duration(0)
	switch kind := d.IntN(20); {
	case kind < 4:
		req.Wait = false
		// Six tries of a round each, whose token may take three more, with pauses between them.
		bound = 24*(s.timeout()+time.Millisecond) + 300*time.Millisecond + 12*s.trip
	case kind < 18:
		most := 1500*time.Millisecond + 10*s.trip
		if d.oneIn(4) {
			most = 60 * time.Millisecond
		}
		bound = d.upTo(most)
		ctx, cancel = context.WithTimeout(c.life, bound)
	}
	hold, err := c.m.Lock(ctx, req)
	cancel()
	if took := time.Since(begun); bound > 0 && took > bound+time.Millisecond {
		s.t.Errorf("%v: client %d: Lock took %v, want %v at most", time.Since(s.start), c.i, took, bound)
	}
	if err != nil {
		s.failed(c, err)
		time.Sleep(d.upTo(300 * time.Millisecond))
		return
	}
	s.use(d, c, hold, e)
}

// failed counts what a Lock said that got nothing.
func (s *sim) failed(c *simClient, err error) {
	switch {
	case errors.Is(err, ErrClosed):
		if !c.gone() {
			s.t.Errorf("%v: client %d: %v", time.Since(s.start), c.i, err)
		}
	case errors.Is(err, ErrTaken):
		s.count(refusing)
	case errors.Is(err, ErrNoQuorum):
		s.count(stranding)
	case errors.Is(err, ErrUpgrade):
		s.count(upgrading)
	case !errors.Is(err, context.DeadlineExceeded) && !c.gone():
		s.t.Errorf("%v: client %d: Lock = %v, an error of no kind that is documented", time.Since(s.start), c.i, err)
	}
}

// simEntry is an entry of a caller.
type simEntry struct {
	entry
	granted bool
}

func (s *sim) newEntry() *simEntry {
	e := new(simEntry)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = append(s.entries, e)
	return e
}

// use works under a hold for a while, extends it, enters it again, and gives it back: or not at
// all, where its lease ends soon.
func (s *sim) use(d dice, c *simClient, h *Hold, e *simEntry) {
	e.granted = true
	s.holds(h)
	for more := true; more; more = d.IntN(10) < 3 {
		time.Sleep(d.upTo(s.work))
		s.alone(h)
		switch d.IntN(6) {
		case 0:
			s.extend(d, h, e)
		case 1, 2:
			if h.owner == any(c) {
				s.enter(d, c, h)
			}
		case 3:
			if !h.semaphore && d.oneIn(2) {
				s.downgrade(d, h, e)
			}
		}
	}
	if s.brief && d.oneIn(20) && !s.healed() {
		s.count(leaking)
		h.Orphan(e) // it may be renewed for another entry
		return
	}
	if d.oneIn(8) { // a renewal crosses the release
		var renewing sync.WaitGroup
		defer renewing.Wait()
		renewing.Go(func() { _ = h.Extend(context.Background(), e, s.lease) })
		time.Sleep(time.Nanosecond)
	}
	s.unlock(d, h, e)
}

func (s *sim) extend(d dice, h *Hold, e *simEntry) {
	ctx, cancel := context.WithTimeout(context.Background(), d.upTo(2*s.timeout()))
	defer cancel()
	if h.Extend(ctx, e, s.lease) == nil {
		s.count(extending)
	}
	s.alone(h)
}

func (s *sim) downgrade(d dice, h *Hold, e *simEntry) {
	ctx, cancel := context.WithTimeout(context.Background(), d.upTo(2*s.timeout()))
	defer cancel()
	if h.Downgrade(ctx, e) == nil {
		s.count(downgrading)
	}
	s.alone(h)
}

// enter enters a hold again, works under it, and gives that entry back.
func (s *sim) enter(d dice, c *simClient, h *Hold) {
	e := s.newEntry()
	ctx, cancel := context.WithTimeout(c.life, d.upTo(4*s.timeout()))
	defer cancel()
	again, err := c.m.Lock(ctx, Request{
		Key: h.Name(), Shared: d.oneIn(2), Lease: s.lease, Wait: d.oneIn(2), Watch: d.oneIn(2), Owner: c, Entry: e,
	})
	if err != nil {
		s.failed(c, err)
		return
	}
	e.granted = true
	s.holds(again) // another hold, where h has ended meanwhile
	if again == h {
		s.count(entering)
	}
	time.Sleep(d.upTo(s.work))
	s.alone(again)
	s.unlock(d, again, e)
}

func (s *sim) unlock(d dice, h *Hold, e *simEntry) {
	bound := d.upTo(2 * s.timeout())
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	begun := time.Now()
	err := h.Unlock(ctx, e)
	if took := time.Since(begun); took > bound {
		s.t.Errorf("%v: Unlock took %v, want %v at most", time.Since(s.start), took, bound)
	}
	switch {
	case errors.Is(err, ErrLost):
		s.count(losing)
	case err != nil && !errors.Is(err, ErrNoQuorum) && !errors.Is(err, ErrClosed):
		s.t.Errorf("%v: Unlock = %v, an error of no kind that is documented", time.Since(s.start), err)
	}
	if len(e.told()) == 0 {
		s.t.Errorf("%v: an entry of %s was given back and not told", time.Since(s.start), h.Owner())
	}
}

// served has each client lock each name three times at the same time, once to read it, and take a
// permit of each semaphore, without a deadline, once all is well.
func (s *sim) served() {
	const each = 4
	start := time.Now()
	var callers sync.WaitGroup
	there := 0
	for _, c := range s.clients {
		if c.vanished {
			continue
		}
		there++
		for _, key := range []string{"k", "l"} {
			for i := range each {
				req := Request{Key: key, Shared: i == 1, Lease: s.lease, Wait: true}
				if i == 3 {
					req.Permits = c.permits()
				}
				s.in(&callers, func(d dice) {
					e := s.newEntry()
					req.Entry = e
					h, err := c.m.Lock(s.t.Context(), req)
					if err != nil {
						s.t.Errorf("client %d: the last Lock = %v", c.i, err)
						return
					}
					s.use(d, c, h, e)
				})
			}
		}
	}
	callers.Wait()
	// Each waits at most as long as the lock may be handed to a caller that is gone, and works for up
	// to ten times what use draws, with an Extend each time. Where clients vanish, their leases end.
	handedOff := 2*s.clients[0].m.conf.LastPause + 8*s.trip
	most := time.Duration(each*there) * (handedOff + 5*s.work + 6*s.trip)
	if s.brief {
		most += 2 * s.lease
	}
	if took := time.Since(start); took > most {
		s.t.Errorf("the last callers were served after %v, want %v at most", took, most)
	}
}
