package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// rollout is two processes of a fleet that changes its sets from a and b to b and c: one from before the first rollout, and
// one of it.
type rollout struct {
	fleets
	old, moving *redlock.Client
	name        string // moves from a to c
}

// onRollout is a test with a rollout.
func onRollout(f func(*testing.T, *rollout)) func(*testing.T) {
	return inSets("a b c", func(t *testing.T, sets fleets) {
		s := &rollout{fleets: sets}
		s.old = s.open(t, redlock.Config{}, "a b", "")
		s.moving = s.open(t, redlock.Config{}, "a b", "b c")
		s.name = nameIn(t, s.moving, "a", "c")
		f(t, s)
	})
}

// known is how long others remember a process that has ended.
const known = time.Minute + time.Second

// others runs f with the process from before the first rollout, and then with one of the second: each locks the name in
// one set.
func (s *rollout) others(t *testing.T, f func(other *redlock.Client, id string)) {
	t.Helper()
	f(s.old, "a")
	expect(t, "Close", s.old.Close())
	time.Sleep(known)
	f(s.open(t, redlock.Config{}, "b c", ""), "c")
}

// expectCounter checks that the fencing counters of a majority in a set are not below token.
func (s *rollout) expectCounter(t *testing.T, id, name string, token int64) {
	t.Helper()
	synctest.Wait()
	n := 0
	for _, m := range s.fleets[id].Masters() {
		var counter int64
		_, _ = fmt.Sscan(m.Get("redlock_fence:{"+name+"}"), &counter)
		if counter >= token {
			n++
		}
	}
	check.AtLeast(t, n, 2, "masters of set %q that have a counter of %d or more", id, token)
}

// A name that moves is locked in both sets, so that processes before, in and after the rollout exclude each other.
func TestNamesThatMoveAreLockedInBothSets(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		stays := nameIn(t, s.moving, "b")
		s.others(t, func(other *redlock.Client, id string) {
			hold := lock(t, t.Context(), s.moving, s.name)
			s.expectAt(t, s.name, "a", "c")
			expect(t, "TryLock", second(other.TryLock(t.Context(), s.name)), redlock.ErrTaken)
			unlock(t, hold)
			s.expectAt(t, s.name)
			hold = lock(t, t.Context(), other, s.name)
			expect(t, "TryLock", second(s.moving.TryLock(t.Context(), s.name)), redlock.ErrTaken)
			s.expectAt(t, s.name, id) // and the other one was given back
			in := inspect(t, s.moving, s.name)
			check.That(t, in.Held && in.Holder == hold.Owner() && in.Remaining > 0 && len(in.Masters) == 6, "Inspect = %+v, want it held by %s, and what 6 masters say", in, hold.Owner())
			check.Equal(t, must(redlockadmin.Of(s.moving).ForceUnlock(t.Context(), s.name))(t, "ForceUnlock"), true, "ForceUnlock")
			expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
			holds := lockAll(t, redlock.WithOwner(t.Context()), s.moving, stays, s.name)
			s.expectAt(t, stays, "b")
			s.expectAt(t, s.name, "a", "c")
			inner := lock(t, holds.Hold(s.name).Context(), s.moving, stays) // they are entered together
			check.Equal(t, holds.Hold(stays).Count(), 2, "Count")
			unlock(t, inner)
			expect(t, "Unlock", holds.Unlock(t.Context()))
			s.expectAt(t, s.name)
			reader := lock(t, t.Context(), other, s.name, redlock.Shared())
			in = inspect(t, s.moving, s.name)
			check.That(t, len(in.Readers) == 1 && in.Readers[0].Owner == reader.Owner(), "Inspect = %+v, want the reader %s", in, reader.Owner())
			unlock(t, reader)
			all := must(s.moving.TryLockAll(t.Context(), []string{s.name, stays, s.name}))(t, "TryLockAll")
			check.Equal(t, len(all.Names()), 2, "names, each once")
			expect(t, "Unlock", all.Unlock(t.Context()))
		})
	})(t)
}

// A hold in two sets is lost when it is lost in either.
func TestAHoldInTwoSetsIsOne(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		for _, id := range []string{"a", "c"} {
			err := s.moving.Do(t.Context(), s.name, func(ctx context.Context) error {
				each(s.fleets[id], 0, 3, func(m *redlocktest.Master) { m.Del(s.name); m.HSet(s.name, another, "1") })
				<-ctx.Done()
				expect(t, "Cause", context.Cause(ctx), redlock.ErrLost)
				s.expectAt(t, s.name, id) // where another owner has it: the other half was given back at once
				each(s.fleets[id], 0, 3, func(m *redlocktest.Master) { m.Del(s.name) })
				return nil
			})
			expect(t, "Do", err, redlock.ErrLost)
			s.expectAt(t, s.name)
		}
	})(t)
}

// TestEnterInTwoSetsEndsWithItsContext: if the second set is silent, Enter leaves the first without waiting for it.
func TestEnterInTwoSetsEndsWithItsContext(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		const trip = 20 * time.Millisecond
		hold := lock(t, t.Context(), s.moving, s.name)
		each(s.fleets["a"], 0, 3, func(m *redlocktest.Master) { m.Delay(trip / 2) })
		each(s.fleets["c"], 0, 3, (*redlocktest.Master).Freeze)
		ctx := within(t, t.Context(), trip+trip/2)
		start := time.Now()
		expect(t, "Enter", second(hold.Enter(ctx)), redlock.ErrNoQuorum, context.DeadlineExceeded)
		check.Equal(t, time.Since(start), trip+trip/2, "Enter took")
		each(s.fleets["c"], 0, 3, (*redlocktest.Master).Thaw)
		time.Sleep(settle)
		check.Equal(t, hold.Count(), 1, "Count")
		unlock(t, hold)
		time.Sleep(settle)
		s.expectAt(t, s.name)
	})(t)
}

// The validity of a hold in two sets ends with the earlier of the two.
func TestUntilOfTwoSets(t *testing.T) {
	inSets("a c", func(t *testing.T, f fleets) {
		for long := range f {
			cfg := redlock.SetsConfig{Sets: make(map[string]redlock.Config), Now: []string{"a"}, Next: []string{"c"}}
			for id := range f {
				cfg.Sets[id] = redlock.Config{Pools: f[id].Pools(), RestartGuard: redlock.GuardOff, Lease: map[bool]time.Duration{true: lease, false: 20 * time.Second}[id == long]}
			}
			s := newSets(t, cfg)
			hold := lock(t, t.Context(), s, "n")
			until, left := time.Until(hold.Until()), hold.Remaining()
			check.That(t, until == left && left <= 20*time.Second, "%q has the longer lease: validity ends in %v, and %v remain", long, until, left)
			unlock(t, hold)
			expect(t, "Close", s.Close())
		}
	})(t)
}

// A hold in two sets has the larger of their tokens, and the other set does not fall behind it.
func TestSetsAgreeOnAToken(t *testing.T) {
	for _, ahead := range []string{"a", "c"} {
		t.Run(ahead, onRollout(func(t *testing.T, s *rollout) {
			token := int64(7000000000000000) // ahead of time
			each(s.fleets[ahead], 0, 3, func(m *redlocktest.Master) { m.Set("redlock_fence:{"+s.name+"}", fmt.Sprint(token)) })
			s.others(t, func(other *redlock.Client, _ string) {
				hold := lock(t, t.Context(), s.moving, s.name)
				check.AtLeast(t, hold.Token(), token+1, "Token")
				token = hold.Token()
				s.expectCounter(t, "a", s.name, token)
				s.expectCounter(t, "c", s.name, token)
				// A renewal heals a master that lost the counter.
				s.fleets["a"].Master(0).Del("redlock_fence:{" + s.name + "}")
				time.Sleep(2 * renewEvery)
				unlock(t, hold)
				later := lock(t, t.Context(), other, s.name)
				check.AtLeast(t, later.Token(), token+1, "the token of the next hold, of a process that locks in one set alone")
				token = later.Token()
				unlock(t, later)
			})
		}))
	}
}

// As long as two sets cannot agree on a token, TryLock returns ErrNoQuorum, and Lock waits.
func TestSetsThatDoNotAgree(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		use(t, s.moving, s.name) // so that the masters have the scripts
		each(s.fleets["a"], 0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		// The masters of set a freeze after they have granted, and before they are asked to raise their counters.
		freeze := func(counter string) {
			each(s.fleets["c"], 0, 3, func(m *redlocktest.Master) { m.Set("redlock_fence:{"+s.name+"}", counter) })
			for _, m := range s.fleets["a"].Masters() {
				time.AfterFunc(15*time.Millisecond, func() {
					check.That(t, m.Holder(s.name) != "", "frozen before it has granted")
					m.Freeze()
				})
				time.AfterFunc(3*time.Second, m.Thaw)
			}
		}
		freeze("7000000000000000")
		expect(t, "TryLock", second(s.moving.TryLock(t.Context(), s.name)), redlock.ErrNoQuorum)
		time.Sleep(10 * time.Second)
		s.expectAt(t, s.name)
		freeze("8000000000000000")
		start := time.Now()
		hold := lock(t, t.Context(), s.moving, s.name)
		check.AtLeast(t, time.Since(start), 3*time.Second, "until set a was back, Lock took")
		s.expectCounter(t, "a", s.name, hold.Token())
		unlock(t, hold)
	})(t)
}

// If several try for a name in two sets at the same time, one gets it.
func TestTryLockInTwoSets(t *testing.T) {
	inSets("a b", func(t *testing.T, f fleets) {
		all := []*redlock.Client{f.open(t, redlock.Config{}, "a", "b"), f.open(t, redlock.Config{}, "b", "a")}
		for _, id := range []string{"a", "b"} {
			each(f[id], 0, 3, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		}
		for range 100 {
			var tries sync.WaitGroup
			var won atomic.Int64
			for _, s := range all {
				tries.Go(func() {
					hold, err := s.TryLock(t.Context(), "n")
					if err != nil {
						expect(t, "TryLock", err, redlock.ErrTaken)
						return
					}
					won.Add(1)
					time.Sleep(10 * time.Millisecond)
					unlock(t, hold)
				})
			}
			tries.Wait()
			if won.Load() != 1 {
				t.Fatalf("%d of two that tried at the same time got the name, want 1", won.Load())
			}
			time.Sleep(50 * time.Millisecond)
		}
	})(t)
}

// TestErrorsOfAMovingSemaphore: the error of a permit whose name moves is one of acquire.
func TestErrorsOfAMovingSemaphore(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		each(s.fleets["a"], 0, 3, (*redlocktest.Master).Kill)
		time.Sleep(settle)
		ctx := within(t, t.Context(), time.Second)
		_, err := s.moving.Lock(ctx, s.name, redlock.Permits(2))
		expect(t, "Lock", err, redlock.ErrNoQuorum, context.DeadlineExceeded)
		why, ok := errors.AsType[*redlock.MajorityError](err)
		check.That(t, ok && why.Op == "acquire" && why.Name == s.name, "Lock = %v, want it to be of the call", err)
		time.AfterFunc(time.Second, func() { s.moving.Close() })
		_, err = s.moving.Lock(t.Context(), s.name, redlock.Permits(2))
		expect(t, "Lock", err, redlock.ErrClosed)
		check.Says(t, err, fmt.Sprintf("acquire %q", s.name), "Lock")
	})(t)
}

// A waiter that cannot reach one of a name's two sets does not hold the name in the other.
func TestASetThatIsAwayKeepsNobodyWaiting(t *testing.T) {
	cut := func(b *redlocktest.Fleet) { each(b, 0, 3, (*redlocktest.Master).Cut) }
	for what, before := range map[string]func(*testing.T, *redlock.Client, *redlocktest.Fleet){
		"before": func(_ *testing.T, _ *redlock.Client, b *redlocktest.Fleet) { cut(b); time.Sleep(settle) },
		"while it waits": func(t *testing.T, s *redlock.Client, b *redlocktest.Fleet) {
			hold := lock(t, t.Context(), s, "n")
			time.AfterFunc(5*time.Second, func() { cut(b); unlock(t, hold) })
		},
		"since clocks jump": func(_ *testing.T, _ *redlock.Client, b *redlocktest.Fleet) {
			each(b, 0, 3, func(m *redlocktest.Master) { m.HSet("n", another, "1"); m.Expire("n", time.Hour) })
			time.AfterFunc(5*time.Second, func() { each(b, 0, 2, func(m *redlocktest.Master) { m.Skew(10 * time.Second) }) })
		},
	} {
		t.Run(what, inSets("a b", func(t *testing.T, f fleets) {
			canary, s := f.open(t, redlock.Config{}, "a", "b"), f.open(t, redlock.Config{}, "a", "")
			before(t, s, f["b"])
			w := waitFor(t, func(ctx context.Context) (*redlock.Hold, error) {
				ctx = within(t, ctx, time.Minute) // or it would keep the next one forever
				return canary.Lock(ctx, "n")
			})
			time.Sleep(10 * time.Second)
			start := time.Now()
			use(t, s, "n")
			check.Equal(t, time.Since(start), 0, "Lock behind a caller that waits for the masters of another set took")
			w.cancel()
			<-w.done
			expect(t, "Lock", w.err, redlock.ErrNoQuorum, context.Canceled)
			why, ok := errors.AsType[*redlock.MajorityError](w.err)
			check.That(t, ok && why.Name == "n", "Lock = %v, want it to say that it is about n", w.err)
		}))
	}
}

// Processes that look for permits in different sets hold no more of them than there are.
func TestPermitsInTwoSets(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		s.others(t, func(other *redlock.Client, id string) {
			expect(t, "Do", s.moving.Do(t.Context(), s.name, func(context.Context) error {
				permit := acquire(t, other, s.name, 2)
				for _, all := range []*redlock.Client{s.moving, other} {
					expect(t, "TryAcquire of a third", second(all.TryLock(t.Context(), s.name, redlock.Permits(2))), redlock.ErrTaken)
				}
				in := must(redlockadmin.Of(s.moving).InspectSemaphore(t.Context(), s.name))(t, "Inspect")
				check.That(t, len(in.Slots) == 3 && len(in.Masters) == 6 && in.Name == s.name, "Inspect = %+v, want a permit in both sets and one in set %q", in, id)
				return permit.Unlock(t.Context())
			}, redlock.Permits(2)))
		})
	})(t)
}

// A Hold that entered its tree's writer lock in one set, and reads in the other, is a reader's: others read there.
func TestHoldOfAWriterAndAReaderInTwoSets(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		expect(t, "Close", s.old.Close())
		time.Sleep(known)
		unlock(t, lock(t, t.Context(), s.moving, s.name)) // so that it is established
		other := lock(t, t.Context(), s.open(t, redlock.Config{}, "b c", ""), s.name, redlock.Shared())
		owner := redlock.WithOwner(t.Context())
		each(s.fleets["c"], 0, 3, func(m *redlocktest.Master) { m.Delay(20 * time.Millisecond) })
		var writer sync.WaitGroup
		writer.Go(func() { expect(t, "Lock of the writer", second(s.moving.Lock(owner, s.name)), redlock.ErrUpgrade) })
		time.Sleep(5 * time.Millisecond) // it has the name in a, and asks for it in c
		reader := must(s.moving.TryLock(owner, s.name, redlock.Shared()))(t, "TryLock of a reader of the same tree")
		check.Equal(t, reader.Shared(), true, "Shared, where %s reads as well", other.Owner())
		writer.Wait()
		unlock(t, reader)
		unlock(t, other)
	})(t)
}

// One slot number may be two holders' in the two sets of a name that moves. ForceReleaseSlot frees one of them.
func TestForceReleaseOfOneSlotInTwoSets(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		for i := range 40 { // of which a quarter move
			name := fmt.Sprint("pool-", i)
			if !slices.Equal(redlockadmin.Of(s.moving).SetsOf(name), []string{"a", "c"}) {
				continue
			}
			first, both := acquire(t, s.old, name, 1), acquire(t, s.moving, name, 2)
			freed := must(redlockadmin.Of(s.moving).ForceReleaseSlot(t.Context(), name, first.Slot()))(t, "ForceReleaseSlot")
			in, err := redlockadmin.Of(s.moving).InspectSemaphore(t.Context(), name)
			expect(t, "Inspect", err)
			check.That(t, freed && len(in.Slots) == 2, "%s: of a permit in set a and one in both, these are left: %+v; want the latter", name, in.Slots)
			expect(t, "Unlock", first.Unlock(t.Context()), redlock.ErrLost)
			unlock(t, both)
		}
	})(t)
}

// A process that is refused, since others took its place while it was cut off, can still enter what it holds, in one set
// or two.
func TestRefusedSetsEnterAgain(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		expect(t, "Close", s.old.Close())
		expect(t, "Close", s.moving.Close())
		time.Sleep(known)
		moving := s.fleets.open(t, redlock.Config{MaxLease: time.Hour}, "a b", "b c")
		stays := nameIn(t, moving, "b")
		owner := redlock.WithOwner(t.Context())
		one, two := lock(t, owner, moving, stays, redlock.Lease(time.Hour)), lock(t, owner, moving, s.name, redlock.Lease(time.Hour))
		synctest.Wait()
		terms := strings.Replace(published(s.fleets["b"].Master(0)), `"now":["a","b"],"next":["b","c"]`, `"now":["b","d"]`, 1)
		for _, fleet := range s.fleets {
			each(fleet, 0, 3, (*redlocktest.Master).Freeze)
		}
		time.Sleep(time.Minute)
		for _, fleet := range s.fleets {
			each(fleet, 0, 3, (*redlocktest.Master).Thaw)
		}
		for i := range 3 {
			forge(t, s.fleets["b"], i, time.Minute, terms)
		}
		time.Sleep(5 * time.Second)
		expect(t, "TryLock", second(moving.TryLock(t.Context(), stays)), redlock.ErrRoute)
		expect(t, "TryAcquire", second(moving.TryLock(two.Context(), s.name, redlock.Permits(1))), redlock.ErrRoute)
		for _, hold := range []*redlock.Hold{one, two} {
			unlock(t, lock(t, hold.Context(), moving, hold.Name()))
			unlock(t, got(t, "Enter", hold.Enter, t.Context()))
			again, err := moving.TryLockAll(hold.Context(), []string{hold.Name()})
			if expect(t, "TryLockAll", err); err == nil {
				expect(t, "Unlock", again.Unlock(t.Context()))
			}
			expect(t, "LockAll of another", second(moving.TryLockAll(hold.Context(), []string{hold.Name(), "other"})), redlock.ErrRoute)
			unlock(t, hold)
		}
	})(t)
}

// A fleet's processes restart one by one with other sets, while all lock: half-way and back, to the end, and back. Package
// judge checks the history, but for the order of waiters, which each set settles by itself.
//
// No permits are taken: their tokens are compared in one set alone.
func TestRolloutUnderLoadLong(t *testing.T) {
	all := &tally{had: map[string]int{}}
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			s := &sim{seed: seed}
			defer s.judge(t, all) // also if the bubble ends the test
			synctest.Test(t, s.rollOut)
		})
	}
}

// routes are Now and Next of each rollout, some of which are taken back. Neighbours are used at the same time.
var routes = [...][2]string{{"a b", ""}, {"a b", "d b c"}, {"a b", ""}, {"a b", "d b c"}, {"d b c", "a b"}, {"d b c", ""}, {"d b c", "a b"}, {"a b", ""}}

// rollOut is one seed of TestRolloutUnderLoadLong.
func (s *sim) rollOut(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(s.seed, 0))}
	s.t, s.start = t, time.Now()
	s.times = times{timeout: nodeTimeout, lease: 3 * time.Second, guard: -1, waits: 30 * time.Second, think: 10 * time.Millisecond, stays: 40}
	s.calls, s.each = []history.Do{history.TryLock, history.LockFor, history.Lock, history.RLock, history.TryRLock, history.LockAll}, 2
	f := startFleets(t, "a", "b", "c", "d")
	for _, id := range []string{"a", "b", "c", "d"} {
		skew := time.Duration(d.IntN(3)-1) * d.upTo(time.Minute)
		for _, m := range f[id].Masters() {
			m.Skew(skew) // so that tokens of one set do not fit another
			m.Delay(d.upTo(time.Millisecond))
		}
	}
	changing := f.start(t, redlock.Config{}, routes[1][0], routes[1][1])
	s.names = []string{nameIn(t, changing, "a", "c"), nameIn(t, changing, "b"), nameIn(t, changing, "b", "d")}
	expect(t, "Close", changing.Close())
	s.begin(fmt.Sprintf("go test ./redlock -run 'TestRolloutUnderLoadLong/seed=%d$' -v", s.seed))
	const processes = 3
	var rollouts [len(routes)]sync.WaitGroup // one ends when all processes have gone through it
	for i := range rollouts {
		rollouts[i].Add(processes)
	}
	for p := range processes {
		own := d.fork()
		s.troubles.Go(func() {
			for i, route := range routes {
				c := s.client(fmt.Sprintf("p%d.%d", p, i))
				s.mu.Lock()
				s.clients = append(s.clients, c)
				s.mu.Unlock()
				s.own.Add(history.Event{What: history.Started, Who: c.who})
				c.Client = f.open(t, redlock.Config{Lease: s.lease}, route[0], route[1])
				s.employ(c, own.Uint64(), 0)
				work := func(until func()) {
					var callers sync.WaitGroup
					ending := make(chan struct{})
					callers.Go(func() { c.callers.Serve(context.Background(), ending) })
					until()
					time.Sleep(own.upTo(100 * time.Millisecond))
					close(ending)
					callers.Wait()
				}
				work(func() { // beside processes of the rollout before
					rollouts[i].Done()
					rollouts[i].Wait() // whoever runs the rollouts waits for all processes
				})
				time.Sleep(known)
				work(func() {}) // beside processes of the next rollout
				s.leave(c)
			}
		})
	}
	s.troubles.Wait()
	s.callers.Wait()
	held := 0
	for _, e := range s.history(t).Events {
		if e.What == history.Granted {
			held++
		}
	}
	check.AtLeast(t, held, processes*len(routes), "holds in all: else the test shows nothing")
	for _, name := range s.names {
		f.expectAt(t, name)
	}
}
