package redlock_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/tally"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

var simSeeds = flag.Uint64("sim", 75, "how many seeds TestSim runs")

// Several clients lock two names in many goroutines, to read or to write, and take permits of a
// semaphore, and mostly wait for them, while
// masters die, restart, freeze, are cut off and are slow, minorities and majorities of them,
// and one client vanishes and comes back.
//
// Replay one seed: go test ./redlock -run 'TestSim/seed=17$' -v. The seed settles the
// faults and what callers do; the random pauses of the library itself and the order of
// goroutines at one instant are another time's.
func TestSim(t *testing.T) {
	all := tally.New(wanted[:])
	t.Cleanup(func() { all.Expect(t) })
	for seed := range portion(*simSeeds) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { simulate(t, seed, all) })
		})
	}
}

type sim struct {
	t     *testing.T
	fleet *redlocktest.Fleet
	start time.Time
	empty bool // masters may restart without their data, behind the guard
	times
	mends int // how many of the things that are done to a master mend it, beside seven that do not

	mu      sync.Mutex
	holders map[string]holder   // who was last granted each name, or slot, alone
	readers map[string][]holder // of each name, and who became one
	tokens  map[string]int64    // the largest of each that is alone
	read    map[string]int64    // the largest of a reader
	grants  int
	tally   [events]int // how often each event happened
}

// times are how long things take in a seed: they follow the distance to the masters.
type times struct {
	trip    time.Duration // to the masters and back when all is well
	timeout time.Duration // of a node
	lease   time.Duration
	long    time.Duration // longer than most holds, and than what is wrong with a master lasts
	end     time.Duration // of the faults

	// bound is what a call may take beyond its deadline, or all in all without one: a command
	// may wait for a connection, for its answer, and once more where the script was lost.
	bound time.Duration
}

// drawTimes has masters next door in two seeds of three, and else up to 600 ms away; and in one
// of eight leases of minutes, which end after everything else.
func drawTimes(r *rand.Rand) times {
	var t times
	if r.IntN(3) == 0 {
		t.trip = time.Duration(r.Int64N(int64(600 * time.Millisecond)))
	}
	t.timeout = 100*time.Millisecond + 2*t.trip
	t.long = 1500*time.Millisecond + 8*t.trip
	t.lease = t.long
	if r.IntN(8) == 0 {
		t.lease = time.Minute + time.Duration(r.Int64N(int64(9*time.Minute)))
	}
	t.end = 5*time.Second + 20*t.trip
	t.bound = 3*t.timeout + time.Millisecond
	return t
}

// holder is somebody who was granted a name, or a slot of a semaphore, until ctx ends.
type holder struct {
	ctx    context.Context
	name   string
	token  int64 // no two who have a name alone have the same
	shared bool
}

// semaphore is the name of the semaphore. A client counts two permits, or three: who has which slot is
// checked as who has which name.
const semaphore = "gpu"

func holderOf(hold *redlock.Hold) holder {
	h := holder{hold.Context(), hold.Name(), hold.Token(), hold.Shared()}
	if h.name == semaphore {
		h.name = fmt.Sprintf("%s, slot %d", semaphore, hold.Slot())
	}
	return h
}

func simulate(t *testing.T, seed uint64, all *tally.Total) {
	r := rand.New(rand.NewPCG(seed, 0))
	s := &sim{
		t:       t,
		fleet:   redlocktest.Start(t, []int{1, 2, 3, 3, 3, 3, 4, 5}[r.IntN(8)]),
		start:   time.Now(),
		empty:   r.IntN(2) == 0,
		mends:   []int{3, 12}[r.IntN(2)],
		times:   drawTimes(r),
		holders: make(map[string]holder),
		readers: make(map[string][]holder),
		tokens:  make(map[string]int64),
		read:    make(map[string]int64),
	}
	guard := time.Duration(-1)
	if s.empty {
		guard = s.lease
	}
	for _, m := range s.fleet.Masters() {
		m.Delay(s.trip / 2)
	}
	var wg sync.WaitGroup
	var w wall
	var clients []*redlock.Client
	var traces []*recorder
	for i := range 2 + r.IntN(2) {
		cfg := redlock.Config{Lease: s.lease, NodeTimeout: s.timeout, RestartGuard: guard}
		if i == 0 {
			cfg.Pools = w.pools(s.fleet)
		} else {
			traces = append(traces, new(recorder))
			cfg.Trace = traces[i-1].trace()
		}
		c := open(t, s.fleet, cfg)
		clients = append(clients, c)
		for range 2 {
			caller := rand.New(rand.NewPCG(seed, r.Uint64()))
			wg.Go(func() { s.call(caller, c, c.Semaphore(semaphore, 2+i%2)) })
		}
	}
	walls := rand.New(rand.NewPCG(seed, r.Uint64()))
	wg.Go(func() { s.disturb(r) })
	wg.Go(func() {
		for time.Since(s.start) < s.end {
			pause(walls, 2*time.Second)
			w.up.Store(true)
			pause(walls, time.Second)
			w.fall()
		}
	})
	wg.Wait()

	// All is well again: what was given back is free as soon as the masters hear of it.
	for _, m := range s.fleet.Masters() {
		m.Delay(s.trip / 2)
		m.Mend()
		m.Thaw()
		if !m.Alive() {
			m.RestartWithData()
		}
	}
	time.Sleep(s.long - 300*time.Millisecond)
	s.expectFree("before its lease can have ended")
	if s.empty {
		time.Sleep(guard + guard/100 + time.Second + 4*s.trip) // of a master that restarted last
	}
	for _, c := range clients {
		s.last(c)
	}
	for _, c := range clients {
		expect(t, "Close", c.Close())
	}
	for _, r := range traces {
		r.expectSound(t)
	}
	synctest.Wait()
	s.expectFree("after Close")
	for _, name := range []string{"a", "b"} {
		expectNoQueue(t, s.fleet, name)
	}
	t.Logf("%d masters, %d clients, empty restarts: %v, %d grants", len(s.fleet.Masters()), len(clients), s.empty, s.grants)
	all.Add(s.tally[:])
}

// last wants c to have each name at once, when all is well.
func (s *sim) last(c *redlock.Client) {
	for _, name := range []string{"a", "b"} {
		// A round trip, one more for a master that lacks the script, and some for the token.
		ctx, cancel := context.WithTimeout(context.Background(), s.timeout+6*s.trip)
		hold, err := c.Lock(ctx, name)
		cancel()
		if err != nil {
			s.t.Errorf("Lock(%q) when all is well = %v", name, err)
			continue
		}
		s.granted(holderOf(hold))
		expect(s.t, "Unlock when all is well", hold.Unlock(context.Background()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout+6*s.trip)
	defer cancel()
	permit, err := c.Semaphore(semaphore, 2).Acquire(ctx)
	if err != nil {
		s.t.Errorf("Acquire when all is well = %v", err)
		return
	}
	s.granted(holderOf(permit))
	expect(s.t, "Unlock of a permit when all is well", permit.Unlock(context.Background()))
}

func (s *sim) expectFree(when string) {
	for _, m := range s.fleet.Masters() {
		for _, name := range []string{"a", "b"} {
			if got := m.Hash(name); got != nil {
				s.t.Errorf("%s has %q %v %s", m.Name(), name, got, when)
			}
		}
		for slot, value := range m.Hash("redlock_slots:{" + semaphore + "}") {
			owner, end, _ := strings.Cut(value, " ")
			if ms, err := strconv.ParseFloat(end, 64); err != nil || ms > float64(time.Now().UnixMilli()) {
				s.t.Errorf("%s has slot %s of %s %s", m.Name(), slot, owner, when)
			}
		}
	}
}

// pause sleeps for a random time that no other pause has, to the nanosecond.
func pause(r *rand.Rand, most time.Duration) { time.Sleep(time.Duration(r.Int64N(int64(most)))) }

// call locks and unlocks in every way there is, until the end.
func (s *sim) call(r *rand.Rand, c *redlock.Client, permits *redlock.Semaphore) {
	for time.Since(s.start) < s.end {
		pause(r, 200*time.Millisecond)
		name := []string{"a", "a", "b"}[r.IntN(3)]
		wait := time.Duration(r.Int64N(int64(2*time.Second + 10*s.trip)))
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		begin := time.Now()
		var hold *redlock.Hold
		var err error
		bound := wait + time.Millisecond
		way := []event{trying, lockingFor, doing, locking, locking, locking, reading, reading, reading, permitting, permitting}[r.IntN(11)]
		switch way {
		case trying:
			hold, err = c.TryLock(ctx, name)
			bound = min(bound, 6*(s.bound+s.timeout)+256*time.Millisecond) // tries, and pauses between them
		case lockingFor:
			hold, err = c.LockFor(ctx, name, s.long/2)
		case reading:
			if r.IntN(5) == 0 {
				hold, err = c.TryRLock(ctx, name)
			} else {
				hold, err = c.RLock(ctx, name)
			}
		case permitting:
			if r.IntN(5) == 0 {
				hold, err = permits.TryAcquire(ctx)
			} else {
				hold, err = permits.Acquire(ctx)
			}
		case doing:
			err = c.Do(ctx, name, func(ctx context.Context) error {
				h := holder{ctx: ctx, name: name, token: redlock.Token(ctx)}
				s.granted(h)
				s.count(doing)
				defer s.alone(h)
				if r.IntN(3) > 0 {
					pause(r, 100*time.Millisecond)
				} else {
					<-ctx.Done()
				}
				return nil
			})
			bound += 100*time.Millisecond + s.bound
			if errors.Is(err, redlock.ErrLost) {
				s.count(losing)
				err = nil
			}
		default:
			hold, err = c.Lock(ctx, name)
		}
		s.within("lock", begin, bound)
		cancel()
		s.failed(err)
		if err != nil && !errors.Is(err, redlock.ErrTaken) && !errors.Is(err, redlock.ErrNoQuorum) && !errors.Is(err, context.DeadlineExceeded) {
			s.t.Errorf("lock = %v: an error of no kind that is documented", err)
		}
		if hold != nil {
			s.granted(holderOf(hold))
			s.count(way)
			s.use(r, c, hold)
		}
	}
}

// use keeps a hold for a while, enters it again, extends it, and unlocks.
func (s *sim) use(r *rand.Rand, c *redlock.Client, hold *redlock.Hold) {
	s.hold(r, hold)
	switch way := r.IntN(5); {
	case way == 0 && hold.Name() != semaphore:
		again := c.Lock
		if hold.Shared() {
			again = c.RLock
		}
		ctx, cancel := context.WithTimeout(hold.Context(), 200*time.Millisecond)
		inner, err := again(ctx, hold.Name())
		cancel()
		if err == nil {
			s.count(entering)
			s.hold(r, inner)
			s.unlock(r, inner)
			s.hold(r, hold) // one level is left
		}
	case way == 1 && hold.Name() != semaphore && !hold.Shared():
		begin := time.Now()
		s.downgraded(holderOf(hold))
		if hold.Downgrade(context.Background()) == nil {
			s.count(downgrading)
		}
		s.within("Downgrade", begin, s.bound)
		s.hold(r, hold)
	case way == 2:
		begin := time.Now()
		if hold.Extend(context.Background(), s.lease) == nil {
			s.count(extending)
		}
		s.within("Extend", begin, s.bound)
	}
	s.alone(holderOf(hold))
	s.unlock(r, hold)
	if hold.Context().Err() == nil {
		s.t.Errorf("the context of %s goes on after Unlock", hold.Owner())
	}
}

func (s *sim) unlock(r *rand.Rand, hold *redlock.Hold) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.Int64N(int64(2*s.bound))))
	defer cancel()
	begin := time.Now()
	err := hold.Unlock(ctx)
	s.within("Unlock", begin, s.bound)
	if errors.Is(err, redlock.ErrLost) {
		s.count(losing)
	}
	if err != nil && !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
		s.t.Errorf("Unlock = %v: an error of no kind that is documented", err)
	}
}

// hold keeps a hold for a while, mostly a short one, and sometimes longer than a lease.
func (s *sim) hold(r *rand.Rand, hold *redlock.Hold) {
	s.alone(holderOf(hold))
	if r.IntN(4) > 0 {
		pause(r, 100*time.Millisecond)
	} else {
		pause(r, s.long*3/2)
	}
	s.alone(holderOf(hold))
}

// granted checks a holder against those before, and takes its place.
func (s *sim) granted(h holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grants++
	if last, ok := s.holders[h.name]; ok && last.ctx.Err() == nil && h.ctx.Err() == nil {
		s.t.Errorf("%v: two holders of %q: with tokens %d and %d (reads: %v)", time.Since(s.start), h.name, last.token, h.token, h.shared)
	}
	if h.shared {
		if !s.empty && h.token < s.tokens[h.name] {
			s.t.Errorf("%v: token %d of a reader of %q after %d", time.Since(s.start), h.token, h.name, s.tokens[h.name])
		}
		s.readers[h.name] = append(s.readers[h.name], h)
		s.read[h.name] = max(s.read[h.name], h.token)
		return
	}
	for _, reader := range s.readers[h.name] {
		if reader.ctx.Err() == nil && h.ctx.Err() == nil {
			s.t.Errorf("%v: who has token %d has %q beside a reader with %d", time.Since(s.start), h.token, h.name, reader.token)
		}
	}
	if last := max(s.tokens[h.name], s.read[h.name]); !s.empty && h.token <= last {
		s.t.Errorf("%v: token %d of %q after %d", time.Since(s.start), h.token, h.name, last)
	}
	s.holders[h.name], s.readers[h.name] = h, nil
	s.tokens[h.name] = h.token
}

// downgraded makes a reader of a holder.
func (s *sim) downgraded(h holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holders[h.name].token == h.token {
		delete(s.holders, h.name)
		s.readers[h.name] = append(s.readers[h.name], h)
	}
}

// alone checks that nobody was granted the name while h's context goes on who must not have it beside
// h.
func (s *sim) alone(h holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.holders[h.name]
	if beside := last.ctx != nil && last.token != h.token; h.ctx.Err() == nil && (beside && !h.shared || beside && last.ctx.Err() == nil) {
		s.t.Errorf("%v: who has token %d has %q (reads: %v), and so has who has %d", time.Since(s.start), h.token, h.name, h.shared, last.token)
	}
}

// failed counts what a call that got no lock said.
func (s *sim) failed(err error) {
	switch {
	case errors.Is(err, redlock.ErrTaken):
		s.count(refused)
	case errors.Is(err, redlock.ErrNoQuorum):
		s.count(stranded)
	}
}

func (s *sim) count(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally[e]++
}

func (s *sim) within(call string, begin time.Time, bound time.Duration) {
	if got := time.Since(begin); got > bound {
		s.t.Errorf("%v: %s took %v, want at most %v", time.Since(s.start), call, got, bound)
	}
}

// disturb does something to a random master every now and then.
func (s *sim) disturb(r *rand.Rand) {
	for time.Since(s.start) < s.end {
		pause(r, 300*time.Millisecond+4*s.trip)
		m := s.fleet.Master(r.IntN(len(s.fleet.Masters())))
		switch r.IntN(7 + s.mends) {
		case 0:
			s.count(killing)
			m.Kill()
		case 1:
			if s.empty && r.IntN(2) == 0 {
				s.count(emptying)
				m.Restart()
			} else {
				s.count(restarting)
				m.RestartWithData()
			}
		case 2:
			s.count(freezing)
			m.Freeze()
		case 3:
			s.count(cutting)
			m.Cut()
		case 4, 5, 6:
			s.count(slowing)
			m.Delay(s.trip/2 + time.Duration(r.Int64N(int64(40*time.Millisecond))))
		default: // all is well there
			m.Delay(s.trip / 2)
			m.Mend()
			m.Thaw()
			if !m.Alive() {
				m.RestartWithData()
			}
		}
	}
}
