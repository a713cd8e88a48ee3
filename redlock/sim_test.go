package redlock_test

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

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

var simSeeds = flag.Uint64("sim", 150, "how many seeds TestSim runs")

// Several clients lock two names in many goroutines, and mostly wait for them, while
// masters die, restart, freeze, are cut off and are slow, minorities and majorities of them,
// and one client vanishes and comes back.
//
// Replay one seed: go test ./redlock -run 'TestSim/seed=17$' -v. The seed settles the
// faults and what callers do; the random pauses of the library itself and the order of
// goroutines at one instant are another time's.
func TestSim(t *testing.T) {
	for seed := range *simSeeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

const (
	simLease   = 1500 * time.Millisecond
	simTimeout = 100 * time.Millisecond // of a node
	simEnd     = 5 * time.Second

	// simBound is what a call may take beyond its deadline, or all in all without one: a
	// command may wait for a connection, and then for its answer. TryLock tries four times.
	simBound = 2*simTimeout + time.Millisecond
)

type sim struct {
	t     *testing.T
	fleet *redlocktest.Fleet
	start time.Time
	empty bool // masters may restart without their data, behind the guard

	mu      sync.Mutex
	holders map[string]*redlock.Hold // who was last granted each name
	tokens  map[string]int64
	grants  int
}

func simulate(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &sim{
		t:       t,
		fleet:   redlocktest.Start(t, []int{1, 2, 3, 3, 3, 3, 4, 5}[r.IntN(8)]),
		start:   time.Now(),
		empty:   r.IntN(2) == 0,
		holders: make(map[string]*redlock.Hold),
		tokens:  make(map[string]int64),
	}
	guard := time.Duration(-1)
	if s.empty {
		guard = simLease
	}
	var wg sync.WaitGroup
	var w wall
	var clients []*redlock.Client
	for i := range 2 + r.IntN(2) {
		cfg := redlock.Config{Lease: simLease, NodeTimeout: simTimeout, RestartGuard: guard}
		if i == 0 {
			cfg.Pools = w.pools(s.fleet)
		}
		c := open(t, s.fleet, cfg)
		clients = append(clients, c)
		for range 2 {
			caller := rand.New(rand.NewPCG(seed, r.Uint64()))
			wg.Go(func() { s.call(caller, c) })
		}
	}
	walls := rand.New(rand.NewPCG(seed, r.Uint64()))
	wg.Go(func() { s.disturb(r) })
	wg.Go(func() {
		for time.Since(s.start) < simEnd {
			pause(walls, 2*time.Second)
			w.up.Store(true)
			pause(walls, time.Second)
			w.fall()
		}
	})
	wg.Wait()

	// All is well again: what was given back is free as soon as the masters hear of it.
	for _, m := range s.fleet.Masters() {
		m.Delay(0)
		m.Mend()
		m.Thaw()
		if !m.Alive() {
			m.RestartWithData()
		}
	}
	time.Sleep(simLease - 300*time.Millisecond)
	s.expectFree("before its lease can have ended")
	for _, c := range clients {
		expect(t, "Close", c.Close())
	}
	synctest.Wait()
	s.expectFree("after Close")
	for _, name := range []string{"a", "b"} {
		expectNoQueue(t, s.fleet, name)
	}
	t.Logf("%d masters, %d clients, empty restarts: %v, %d grants", len(s.fleet.Masters()), len(clients), s.empty, s.grants)
}

func (s *sim) expectFree(when string) {
	for _, m := range s.fleet.Masters() {
		for _, name := range []string{"a", "b"} {
			if got := m.Hash(name); got != nil {
				s.t.Errorf("%s has %q %v %s", m.Name(), name, got, when)
			}
		}
	}
}

// pause sleeps for a random time that no other pause has, to the nanosecond.
func pause(r *rand.Rand, most time.Duration) { time.Sleep(time.Duration(r.Int64N(int64(most)))) }

// call locks and unlocks in every way there is, until the end.
func (s *sim) call(r *rand.Rand, c *redlock.Client) {
	for time.Since(s.start) < simEnd {
		pause(r, 200*time.Millisecond)
		name := []string{"a", "a", "b"}[r.IntN(3)]
		wait := time.Duration(r.Int64N(int64(2 * time.Second)))
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		begin := time.Now()
		var hold *redlock.Hold
		var err error
		bound := wait + time.Millisecond
		switch r.IntN(6) {
		case 0:
			hold, err = c.TryLock(ctx, name)
			bound = min(bound, 4*(simBound+10*time.Millisecond))
		case 1:
			hold, err = c.LockFor(ctx, name, simLease/2)
		case 2:
			err = c.Do(ctx, name, func(ctx context.Context) error {
				if r.IntN(3) > 0 {
					pause(r, 100*time.Millisecond)
				} else {
					<-ctx.Done()
				}
				return nil
			})
			bound += 100*time.Millisecond + simBound
			if err == nil || errors.Is(err, redlock.ErrLost) || errors.Is(err, context.DeadlineExceeded) {
				err = nil
			}
		default:
			hold, err = c.Lock(ctx, name)
		}
		s.within("lock", begin, bound)
		cancel()
		if err != nil && !errors.Is(err, redlock.ErrTaken) && !errors.Is(err, redlock.ErrNoQuorum) && !errors.Is(err, context.DeadlineExceeded) {
			s.t.Errorf("lock = %v: an error of no kind that is documented", err)
		}
		if hold != nil {
			s.use(r, c, hold)
		}
	}
}

// use keeps a hold for a while, enters it again, extends it, and unlocks.
func (s *sim) use(r *rand.Rand, c *redlock.Client, hold *redlock.Hold) {
	s.granted(hold)
	s.hold(r, hold)
	switch r.IntN(4) {
	case 0:
		ctx, cancel := context.WithTimeout(hold.Context(), 200*time.Millisecond)
		inner, err := c.Lock(ctx, hold.Name())
		cancel()
		if err == nil {
			s.hold(r, inner)
			s.unlock(r, inner)
		}
	case 1:
		begin := time.Now()
		_ = hold.Extend(context.Background(), simLease)
		s.within("Extend", begin, simBound)
	}
	s.alone(hold)
	s.unlock(r, hold)
	if hold.Context().Err() == nil {
		s.t.Errorf("the context of %s goes on after Unlock", hold.Owner())
	}
}

func (s *sim) unlock(r *rand.Rand, hold *redlock.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Int64N(int64(2*simBound))))
	defer cancel()
	begin := time.Now()
	err := hold.Unlock(ctx)
	s.within("Unlock", begin, simBound)
	if err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
		s.t.Errorf("Unlock = %v: an error of no kind that is documented", err)
	}
}

// hold keeps a hold for a while, mostly a short one, and sometimes longer than a lease.
func (s *sim) hold(r *rand.Rand, hold *redlock.Hold) {
	s.alone(hold)
	if r.IntN(4) > 0 {
		pause(r, 100*time.Millisecond)
	} else {
		pause(r, simLease*3/2)
	}
	s.alone(hold)
}

// granted checks a hold against the one that was granted before, and takes its place.
func (s *sim) granted(hold *redlock.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := hold.Name()
	if last := s.holders[name]; last != nil && last.Context().Err() == nil && hold.Context().Err() == nil {
		s.t.Errorf("%v: two holders of %q: %s (%v left) and %s (%v left)", time.Since(s.start),
			name, last.Owner(), last.Remaining(), hold.Owner(), hold.Remaining())
	}
	if !s.empty && hold.Token() <= s.tokens[name] {
		s.t.Errorf("%v: token %d of %q after %d", time.Since(s.start), hold.Token(), name, s.tokens[name])
	}
	s.holders[name] = hold
	s.tokens[name] = hold.Token()
	s.grants++
}

// alone checks that nobody else was granted the name while hold's context goes on.
func (s *sim) alone(hold *redlock.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last := s.holders[hold.Name()]; last.Owner() != hold.Owner() && hold.Context().Err() == nil {
		s.t.Errorf("%v: %s has %q, and so has %s", time.Since(s.start), hold.Owner(), hold.Name(), last.Owner())
	}
}

func (s *sim) within(call string, begin time.Time, bound time.Duration) {
	if got := time.Since(begin); got > bound {
		s.t.Errorf("%v: %s took %v, want at most %v", time.Since(s.start), call, got, bound)
	}
}

// disturb does something to a random master every now and then.
func (s *sim) disturb(r *rand.Rand) {
	for time.Since(s.start) < simEnd {
		pause(r, 300*time.Millisecond)
		m := s.fleet.Master(r.IntN(len(s.fleet.Masters())))
		switch r.IntN(10) {
		case 0:
			m.Kill()
		case 1:
			if s.empty && r.IntN(2) == 0 {
				m.Restart()
			} else {
				m.RestartWithData()
			}
		case 2:
			m.Freeze()
		case 3:
			m.Cut()
		case 4, 5, 6:
			m.Delay(time.Duration(r.Int64N(int64(40 * time.Millisecond))))
		default: // all is well there
			m.Delay(0)
			m.Mend()
			m.Thaw()
			if !m.Alive() {
				m.RestartWithData()
			}
		}
	}
}
