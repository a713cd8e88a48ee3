package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// rollout is three processes that have the sets a and b, and are about to have b and c: one that knows only
// the old ones, one that is changing, and one that knows only the new ones. The last two do not exist at
// the same time as the first.
type rollout struct {
	fleets
	old, changing *redlock.Sets
	next          []redlock.Set // of changing
	name          string        // moves from a to c
}

// onRollout runs f with a rollout.
func onRollout(t *testing.T, f func(*testing.T, *rollout)) {
	t.Helper()
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, _ *redlock.Client) {
		s := &rollout{fleets: startFleets(t, "a", "b", "c")}
		s.old = newSets(t, s.sets(t, redlock.Config{}, "a", "b")...)
		sets := s.sets(t, redlock.Config{}, "a", "b", "c")
		s.changing = newSets(t, sets[:2]...)
		s.next = sets[1:]
		s.name = moving(t, s.old, newSets(t, s.sets(t, redlock.Config{}, "b", "c")...), "a", "c")
		f(t, s)
	})
}

// change begins the change, in which no hold is in an old set alone.
func (s *rollout) change(t *testing.T) {
	t.Helper()
	expect(t, "Change", s.changing.Change(t.Context(), s.next...))
}

// newOnly is a process that knows only the new sets.
func (s *rollout) newOnly(t *testing.T) *redlock.Sets {
	t.Helper()
	return newSets(t, s.sets(t, redlock.Config{}, "b", "c")...)
}

// expectCounter wants the fencing counters of a majority in a set not to be below token.
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
	if n < 2 {
		t.Errorf("%d masters of set %q have a counter of %d or more, want a majority", n, id, token)
	}
}

// While the sets are being changed, a name that moves is locked in both sets, and others as before: so
// processes before, in and after the change exclude each other.
func TestChangeLocksInBothSets(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		s.change(t)
		hold := setLock(t, t.Context(), s.changing, s.name)
		s.expectAt(t, s.name, "a", "c")
		for _, other := range []*redlock.Sets{s.old, s.newOnly(t)} {
			_, err := other.TryLock(t.Context(), s.name)
			expect(t, "TryLock", err, redlock.ErrTaken)
		}
		unlock(t, hold)
		s.expectAt(t, s.name)
		for id, other := range map[string]*redlock.Sets{"a": s.old, "c": s.newOnly(t)} {
			hold := setLock(t, t.Context(), other, s.name)
			_, err := s.changing.TryLock(t.Context(), s.name)
			expect(t, "TryLock", err, redlock.ErrTaken)
			s.expectAt(t, s.name, id) // and the other one was given back
			in, err := s.changing.Inspect(t.Context(), s.name)
			expect(t, "Inspect", err)
			if !in.Held || in.Holder != hold.Owner() || in.Left <= 0 || len(in.Masters) != 6 {
				t.Errorf("Inspect = %+v, want it held by %s, and what 6 masters say", in, hold.Owner())
			}
			freed, err := s.changing.ForceUnlock(t.Context(), s.name)
			expect(t, "ForceUnlock", err)
			if !freed {
				t.Error("ForceUnlock freed nothing")
			}
		}
		stays := moving(t, s.old, s.newOnly(t), "b", "b")
		holds, err := s.changing.LockAll(t.Context(), stays, s.name)
		expect(t, "LockAll", err)
		s.expectAt(t, stays, "b")
		s.expectAt(t, s.name, "a", "c")
		unlockAll(t, holds)
		s.expectAt(t, s.name)
	})
}

// Whether a hold is in one set or in two makes no difference to who has it.
func TestAHoldInTwoSetsIsOne(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		s.change(t)
		type key struct{}
		start := time.Now()
		hold := setLock(t, context.WithValue(t.Context(), key{}, "value"), s.changing, s.name)
		if got := hold.Context().Value(key{}); got != "value" {
			t.Errorf("Value = %v, want that of the caller's context", got)
		}
		if got := hold.Remaining(); got != validity {
			t.Errorf("Remaining = %v, want %v", got, validity)
		}
		if got := hold.Until(); !got.Equal(start.Add(validity)) {
			t.Errorf("Until = %v, want %v", got, start.Add(validity))
		}
		if got := redlock.Token(hold.Context()); got != hold.Token() || got == 0 {
			t.Errorf("Token of the context = %d, want %d", got, hold.Token())
		}
		inner := setLock(t, hold.Context(), s.changing, s.name)
		if hold.Count() != 2 || inner.Token() != hold.Token() {
			t.Errorf("re-entry: Count = %d, Token = %d, want 2 and %d", hold.Count(), inner.Token(), hold.Token())
		}
		expect(t, "Extend", hold.Extend(t.Context(), 25*time.Second))
		unlock(t, inner)
		expect(t, "second Unlock", inner.Unlock(t.Context()), redlock.ErrNotHeld)
		s.expectAt(t, s.name, "a", "c")
		time.Sleep(time.Hour)
		expectAlive(t, hold)
		unlock(t, hold)
		expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrNotHeld)

		for _, id := range []string{"a", "c"} { // it is lost with either
			err := s.changing.Do(t.Context(), s.name, func(ctx context.Context) error {
				for _, m := range s.fleets[id].Masters() {
					m.Del(s.name)
					m.HSet(s.name, another, "1")
				}
				<-ctx.Done()
				expect(t, "Cause", context.Cause(ctx), redlock.ErrLost)
				for _, m := range s.fleets[id].Masters() {
					m.Del(s.name)
				}
				return nil
			})
			expect(t, "Do", err, redlock.ErrLost)
			s.expectAt(t, s.name)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the customer left")
		expect(t, "Do", s.changing.Do(ctx, s.name, func(ctx context.Context) error {
			cancel(why)
			return context.Cause(ctx)
		}), why)
		s.expectAt(t, s.name)
	})
}

// Whichever set has the larger token, the hold has that one, and neither set falls behind it.
func TestSetsAgreeOnATokenWhileTheyChange(t *testing.T) {
	for _, ahead := range []string{"a", "c"} {
		t.Run(ahead, func(t *testing.T) {
			onRollout(t, func(t *testing.T, s *rollout) {
				for _, m := range s.fleets[ahead].Masters() {
					m.Set("redlock_fence:{"+s.name+"}", "7000000000000000") // ahead of time
				}
				s.change(t)
				hold := setLock(t, t.Context(), s.changing, s.name)
				token := hold.Token()
				if token <= 7000000000000000 {
					t.Errorf("Token = %d, want it above the counters of set %q", token, ahead)
				}
				s.expectCounter(t, "a", s.name, token)
				s.expectCounter(t, "c", s.name, token)
				// Masters that restart empty get it with a renewal.
				for _, m := range s.fleets["a"].Masters()[:1] {
					m.Del("redlock_fence:{" + s.name + "}")
				}
				time.Sleep(2 * renewEvery)
				unlock(t, hold)
				for _, later := range []*redlock.Sets{s.old, s.newOnly(t)} {
					hold := setLock(t, t.Context(), later, s.name)
					if hold.Token() <= token {
						t.Errorf("the next hold, by processes before or after the change, has token %d, want more than %d", hold.Token(), token)
					}
					unlock(t, hold)
				}
			})
		})
	}
}

// A set whose counters cannot be raised makes no hold: TryLock says so, and Lock waits.
func TestSetsThatDoNotAgree(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		for _, m := range s.fleets["c"].Masters() {
			m.Set("redlock_fence:{"+s.name+"}", "7000000000000000")
		}
		s.change(t)
		// The masters of a die when they have granted, and before they are asked to raise.
		for _, m := range s.fleets["a"].Masters() {
			m.Delay(10 * time.Millisecond)
		}
		time.AfterFunc(15*time.Millisecond, func() {
			for _, m := range s.fleets["a"].Masters() {
				m.Freeze()
			}
		})
		time.AfterFunc(3*time.Second, func() {
			for _, m := range s.fleets["a"].Masters() {
				m.Thaw()
			}
		})
		start := time.Now()
		hold, err := s.changing.Lock(t.Context(), s.name)
		expect(t, "Lock", err)
		if got := time.Since(start); got < 2*time.Second {
			t.Errorf("Lock returned after %v, want it to wait until set a is back", got)
		}
		s.expectCounter(t, "a", s.name, hold.Token())
		unlock(t, hold)
	})
}

// Change waits for what is held in an old set alone, and Finish for what is held in a set that leaves.
func TestChangeAndFinishWait(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		early := setLock(t, t.Context(), s.changing, s.name)
		stays := setLock(t, t.Context(), s.changing, moving(t, s.old, s.newOnly(t), "b", "b"))
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := s.changing.Change(short, s.next...)
		expect(t, "Change", err, context.DeadlineExceeded)
		if want := fmt.Sprintf("%q is held in an old set alone", s.name); !strings.Contains(err.Error(), want) {
			t.Errorf("Change = %q, want it to say %s", err, want)
		}
		if err := s.changing.Finish(t.Context()); err == nil {
			t.Error("Finish before Change has returned succeeded")
		}
		if err := s.changing.Change(t.Context(), s.next[:1]...); err == nil {
			t.Error("another Change while one is under way succeeded")
		}
		token := early.Token()
		inner := setLock(t, early.Context(), s.changing, s.name) // enters it, and takes the new set besides
		if early.Token() != token || inner.Token() != token {
			t.Errorf("a re-entry has token %d, and the hold that was entered %d, want %d as before", inner.Token(), early.Token(), token)
		}
		s.expectAt(t, s.name, "a", "c")
		changed := make(chan error, 1)
		go func() { changed <- s.changing.Change(t.Context(), s.next...) }()
		synctest.Wait()
		unlock(t, inner)
		synctest.Wait()
		select {
		case err := <-changed:
			t.Errorf("Change = %v before the hold in the old set alone has ended", err)
		default:
		}
		unlock(t, early)
		expect(t, "Change", <-changed)

		both := setLock(t, t.Context(), s.changing, s.name)
		short, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = s.changing.Finish(short)
		expect(t, "Finish", err, context.DeadlineExceeded)
		if want := "is held in a set that has left"; !strings.Contains(err.Error(), want) {
			t.Errorf("Finish = %q, want it to say %s", err, want)
		}
		expectAlive(t, both)
		if got := s.changing.SetOf(s.name); got != "c" {
			t.Errorf("SetOf = %q after Finish, want c", got)
		}
		inner = setLock(t, both.Context(), s.changing, s.name)
		if inner.Token() != both.Token() {
			t.Errorf("a re-entry after Finish has token %d, want %d", inner.Token(), both.Token())
		}
		unlock(t, inner)
		if err := s.changing.Change(t.Context(), s.next...); err == nil {
			t.Error("another Change before Finish has returned succeeded")
		}
		unlock(t, both)
		expect(t, "Finish", s.changing.Finish(t.Context()))
		hold := setLock(t, t.Context(), s.changing, s.name)
		s.expectAt(t, s.name, "c")
		expectAlive(t, stays)
		unlock(t, hold)
		unlock(t, stays)
	})
}

// Callers that wait while the sets change go on, and get the lock where it is then.
func TestChangeWhileCallersWait(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		hold := setLock(t, t.Context(), s.old, s.name)
		got := make(chan *redlock.Hold, 1)
		wait := func() {
			hold, err := s.changing.Lock(t.Context(), s.name)
			expect(t, "Lock", err)
			got <- hold
		}
		go wait()
		time.Sleep(time.Second)
		s.change(t)
		time.Sleep(time.Second)
		unlock(t, hold)
		waited := <-got
		s.expectAt(t, s.name, "a", "c")
		unlock(t, waited)

		for _, finish := range []string{"behind one who has a", "behind one who has c"} {
			t.Log(finish)
			hold = setLock(t, t.Context(), map[bool]*redlock.Sets{true: s.old, false: s.newOnly(t)}[finish == "behind one who has a"], s.name)
			go wait()
			time.Sleep(time.Second)
			if finish == "behind one who has c" {
				// A caller that waits in a set that leaves starts again with those that stay.
				done := make(chan error, 1)
				go func() { done <- s.changing.Finish(t.Context()) }()
				time.Sleep(time.Second)
				expect(t, "Finish", <-done)
			}
			unlock(t, hold)
			waited = <-got
			expectAlive(t, waited)
			unlock(t, waited)
		}
		s.expectAt(t, s.name)
	})
}

// A caller that waits in a set that leaves starts anew in the sets that stay.
func TestFinishWhileACallerWaitsInASetThatLeaves(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		s.change(t)
		hold := setLock(t, t.Context(), s.old, s.name)
		got := make(chan *redlock.Hold, 1)
		go func() {
			hold, err := s.changing.Lock(t.Context(), s.name)
			expect(t, "Lock", err)
			got <- hold
		}()
		time.Sleep(time.Second)
		expect(t, "Finish", s.changing.Finish(t.Context())) // too early, as far as the old process goes
		s.expectAt(t, s.name, "a", "c")
		unlock(t, <-got)
		unlock(t, hold)
	})
}

// Readers share a name that moves, in both sets, and exclude writers of every phase; their tokens lie
// between those of the writers before and after.
func TestReadersInTwoSets(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		for _, m := range s.fleets["c"].Masters() {
			m.Set("redlock_fence:{"+s.name+"}", "7000000000000000")
		}
		s.change(t)
		later := s.newOnly(t)
		writer := setLock(t, t.Context(), later, s.name)
		unlock(t, writer)
		one, err := s.changing.RLock(t.Context(), s.name)
		expect(t, "RLock", err)
		two, err := s.changing.TryRLock(t.Context(), s.name)
		expect(t, "TryRLock", err)
		if one.Token() < writer.Token() || two.Token() < writer.Token() {
			t.Errorf("readers have tokens %d and %d, want at least %d of the writer before", one.Token(), two.Token(), writer.Token())
		}
		for _, other := range []*redlock.Sets{s.old, later, s.changing} {
			_, err := other.TryLock(t.Context(), s.name)
			expect(t, "TryLock beside readers", err, redlock.ErrTaken)
			third, err := other.TryRLock(t.Context(), s.name)
			expect(t, "TryRLock beside readers", err)
			unlock(t, third)
		}
		_, err = s.changing.Lock(one.Context(), s.name)
		expect(t, "Lock under a reader", err, redlock.ErrUpgrade)
		unlock(t, one)
		unlock(t, two)
		for _, next := range []*redlock.Sets{s.old, later} {
			writer := setLock(t, t.Context(), next, s.name)
			if writer.Token() <= max(one.Token(), two.Token()) {
				t.Errorf("the writer after them has token %d, want more than %d", writer.Token(), max(one.Token(), two.Token()))
			}
			unlock(t, writer)
		}
		hold := setLock(t, t.Context(), s.changing, s.name)
		expect(t, "Downgrade", hold.Downgrade(t.Context()))
		for _, other := range []*redlock.Sets{s.old, later} {
			reader, err := other.TryRLock(t.Context(), s.name)
			expect(t, "TryRLock beside one who was a writer", err)
			unlock(t, reader)
		}
		unlock(t, hold)
		expect(t, "RDo", s.changing.RDo(t.Context(), s.name, func(ctx context.Context) error {
			reader, err := s.changing.RLockFor(t.Context(), s.name, time.Second)
			expect(t, "RLockFor", err)
			unlock(t, reader)
			_, err = s.changing.TryRLockFor(ctx, s.name, time.Hour)
			if err == nil {
				t.Error("a lease longer than MaxLease was not refused")
			}
			return nil
		}))
		s.expectAt(t, s.name)
	})
}

// Never more permits are held than there are, in whichever sets they are looked for.
func TestPermitsInTwoSets(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		later := s.newOnly(t)
		s.change(t)
		for id, other := range map[string]*redlock.Sets{"a": s.old, "c": later} {
			expect(t, "Do", s.changing.Semaphore(s.name, 2).Do(t.Context(), func(context.Context) error {
				second, err := other.Semaphore(s.name, 2).Acquire(t.Context())
				expect(t, "Acquire", err)
				for _, all := range []*redlock.Sets{s.changing, other} {
					_, err := all.Semaphore(s.name, 2).TryAcquire(t.Context())
					expect(t, "TryAcquire of a third", err, redlock.ErrTaken)
				}
				in, err := s.changing.Semaphore(s.name, 2).Inspect(t.Context())
				expect(t, "Inspect", err)
				if len(in.Slots) != 3 || len(in.Masters) != 6 || in.Name != s.name {
					t.Errorf("Inspect = %+v, want a permit in both sets and one in set %q", in, id)
				}
				unlock(t, second)
				third, err := s.changing.Semaphore(s.name, 2).AcquireFor(t.Context(), time.Second)
				expect(t, "AcquireFor", err)
				unlock(t, third)
				return nil
			}))
		}
		permit, err := s.changing.Semaphore(s.name, 1).Acquire(t.Context())
		expect(t, "Acquire", err)
		freed, err := s.changing.Semaphore(s.name, 1).ForceRelease(t.Context())
		expect(t, "ForceRelease", err)
		if !freed {
			t.Error("ForceRelease freed nothing")
		}
		<-permit.Context().Done()
		expect(t, "Cause", context.Cause(permit.Context()), redlock.ErrLost)
		next, err := s.old.Semaphore(s.name, 1).TryAcquire(t.Context())
		expect(t, "TryAcquire", err)
		unlock(t, next)
		_, err = s.changing.Semaphore(s.name, 0).TryAcquire(t.Context())
		if err == nil {
			t.Error("a semaphore of no permits was not refused")
		}
	})
}

// Holds in two sets that become garbage are reported, once for each set, and lost.
func TestHoldInTwoSetsLeaks(t *testing.T) {
	onRollout(t, func(t *testing.T, s *rollout) {
		s.change(t)
		ctx := func() context.Context {
			hold, err := s.changing.Lock(t.Context(), s.name)
			if err != nil {
				t.Fatal(err)
			}
			defer runtime.KeepAlive(hold)
			return hold.Context()
		}()
		collect(t, func() bool { return true })
		for range 3 {
			runtime.GC()
		}
		over(t, ctx)
		expect(t, "Cause", context.Cause(ctx), redlock.ErrLost)
	})
}

// Finish waits until both parts of a hold in two sets have been given back: one that has left its set
// open while the other one ends would be given back by Close, and Unlock would say so.
func TestFinishBesideAnUnlock(t *testing.T) {
	bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, _ *redlock.Client) {
		f := startFleets(t, "a", "b")
		sets := f.sets(t, redlock.Config{}, "a", "b")
		s := newSets(t, sets[:1]...)
		if err := s.Change(t.Context(), sets[1:]...); err != nil {
			t.Fatal(err)
		}
		hold, err := s.Lock(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		finished := make(chan error, 1)
		go func() { finished <- s.Finish(t.Context()) }()
		synctest.Wait()
		if err := hold.Unlock(t.Context()); err != nil {
			t.Errorf("Unlock = %v", err)
		}
		if err := <-finished; err != nil {
			t.Errorf("Finish = %v", err)
		}
	})
}

// Processes move through a change of the sets at times of their own, while they lock: no name ever has
// two holders, and its tokens grow.
//
// Replay one seed: go test ./redlock -run 'TestChangeUnderLoad/seed=17$' -v.
func TestChangeUnderLoad(t *testing.T) {
	var moved, read atomic.Int64
	t.Cleanup(func() { // after all seeds
		if moved.Load() == 0 || read.Load() == 0 {
			t.Errorf("%d names were held in two sets, and %d readers followed another: the test shows nothing", moved.Load(), read.Load())
		}
	})
	for seed := range portion(20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, _ *redlock.Client) {
				m, r := load(t, seed)
				moved.Add(m)
				read.Add(r)
			})
		})
	}
}

// load is one seed of TestChangeUnderLoad. It returns how many names were held in two sets, and how many
// readers followed another.
func load(t *testing.T, seed uint64) (moved, read int64) {
	r := rand.New(rand.NewPCG(seed, 0))
	f := startFleets(t, "a", "b", "c", "d")
	for _, id := range []string{"a", "b", "c", "d"} {
		skew := time.Duration(r.IntN(3)-1) * time.Duration(r.Int64N(int64(time.Minute)))
		for _, m := range f[id].Masters() {
			m.Skew(skew) // so that tokens of one set do not fit another
			m.Delay(time.Duration(r.Int64N(int64(time.Millisecond))))
		}
	}
	cfg := redlock.Config{Lease: 3 * time.Second}
	names := []string{"n1", "n2", "n3", "n4", "n5", "n6"}
	var mu sync.Mutex
	holders := make(map[string][]*redlock.Hold) // the last writer, and the readers since
	tokens := make(map[string]int64)            // the largest so far
	took := func(hold *redlock.Hold) {
		mu.Lock()
		defer mu.Unlock()
		name, token := hold.Name(), hold.Token()
		for _, other := range holders[name] {
			if other.Context().Err() == nil && hold.Context().Err() == nil && !(other.Shared() && hold.Shared()) {
				t.Errorf("two holders of %q: with tokens %d and %d", name, other.Token(), token)
			}
			if other.Shared() && hold.Shared() {
				read++
			}
		}
		if token <= tokens[name] && !hold.Shared() {
			t.Errorf("%q has token %d after %d", name, token, tokens[name])
		}
		if hold.Shared() {
			for _, other := range holders[name] {
				if !other.Shared() && token < other.Token() {
					t.Errorf("a reader of %q has token %d after a writer with %d", name, token, other.Token())
				}
			}
		} else {
			holders[name] = nil
		}
		holders[name] = append(holders[name], hold)
		tokens[name] = max(tokens[name], token)
		if len(f.peek(name)) > 1 {
			moved++
		}
	}
	const processes = 3
	var changed, callers sync.WaitGroup
	changed.Add(processes)
	end := make(chan struct{})
	var finished sync.WaitGroup
	for p := range processes {
		sets := f.sets(t, cfg, "a", "b", "c", "d")
		s := newSets(t, sets[:2]...)
		own := rand.New(rand.NewPCG(seed, uint64(p+1)))
		for c := range 2 {
			caller := rand.New(rand.NewPCG(seed, uint64(100*p+c+200)))
			callers.Go(func() {
				for {
					select {
					case <-end:
						return
					default:
					}
					pause(caller, 10*time.Millisecond)
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					name := names[caller.IntN(len(names))]
					switch caller.IntN(6) {
					case 5:
						hold, err := s.RLock(ctx, name)
						expect(t, "RLock", err)
						if err == nil {
							took(hold)
							pause(caller, 15*time.Millisecond)
							unlock(t, hold)
						}
					case 0:
						hold, err := s.TryLock(ctx, name)
						if err == nil {
							took(hold)
							pause(caller, 15*time.Millisecond)
							unlock(t, hold)
						} else {
							expect(t, "TryLock", err, redlock.ErrTaken)
						}
					case 1:
						holds, err := s.LockAll(ctx, name, names[caller.IntN(len(names))], names[caller.IntN(len(names))])
						expect(t, "LockAll", err)
						if err == nil {
							for _, name := range holds.Names() {
								took(holds.Hold(name))
							}
							pause(caller, 15*time.Millisecond)
							unlockAll(t, holds)
						}
					default:
						hold, err := s.Lock(ctx, name)
						expect(t, "Lock", err)
						if err == nil {
							took(hold)
							pause(caller, 15*time.Millisecond)
							unlock(t, hold)
						}
					}
					cancel()
				}
			})
		}
		finished.Go(func() {
			pause(own, 500*time.Millisecond)
			expect(t, "Change", s.Change(t.Context(), sets[2], sets[1], sets[3]))
			changed.Done()
			changed.Wait() // how processes learn that all have changed is up to who runs them
			pause(own, 500*time.Millisecond)
			expect(t, "Finish", s.Finish(t.Context()))
			pause(own, 200*time.Millisecond)
		})
	}
	finished.Wait()
	close(end)
	callers.Wait()
	for _, name := range names {
		f.expectAt(t, name)
	}
	return moved, read
}
