package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// withKeeper is a test with three masters, a client that keeps locks for 10 s and another one.
func withKeeper(f func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client)) func(*testing.T) {
	return masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		keeper, other := open(t, fleet, redlock.Config{Keep: 10 * time.Second}), open(t, fleet, redlock.Config{})
		use(t, keeper, "warm")
		use(t, other, "warm")
		rest(time.Second)
		f(t, fleet, keeper, other)
	})
}

// A lock that is kept is taken over without a message, with a larger token. Unlock still ends its contexts.
func TestKeep(t *testing.T) {
	withKeeper(func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client) {
		first := lock(t, t.Context(), keeper, "a")
		unlock(t, first)
		synctest.Wait()
		check.That(t, first.Count() == 0 && first.Context().Err() != nil, "after Unlock the hold count is %d and the context's error %v", first.Count(), first.Context().Err())
		check.AtMost(t, time.Until(first.Until()), 0, "the end of what was unlocked, from now on")
		before, token := fleet.Master(0).Commands(), first.Token()
		for range 100 {
			hold := lock(t, t.Context(), keeper, "a")
			check.AtLeast(t, hold.Token(), token+1, "the token")
			token = hold.Token()
			if got := hold.Remaining(); got < validity-time.Second || got > validity {
				t.Fatalf("%v remain of the hold", got)
			}
			unlock(t, hold)
		}
		check.Equal(t, fleet.Master(0).Commands()-before, 0, "commands for a hundred locks of what is kept")
		for _, m := range fleet.Masters() {
			check.Equal(t, m.Holder("a"), first.Owner(), "the owner of what is kept on %s", m.Name())
		}
		for _, reader := range []*redlock.Client{other, keeper} { // each after a writer
			hold := lock(t, t.Context(), other, "a")
			check.AtLeast(t, hold.Token(), token+1, "the token of another client")
			token = hold.Token()
			unlock(t, hold)
			hold = lock(t, t.Context(), reader, "a", redlock.Shared())
			check.AtLeast(t, hold.Token(), token, "the token of a reader")
			unlock(t, hold)
		}
		synctest.Wait()
		expectFree(t, fleet, "a")
	})(t)
}

// The masters' counters are at the last token that a keeper may give out, so List tells no token for its hold.
func TestKeepListed(t *testing.T) {
	withKeeper(func(t *testing.T, _ *redlocktest.Fleet, keeper, other *redlock.Client) {
		hold := lock(t, t.Context(), keeper, "a")
		for one, err := range redlockadmin.Of(other).List(t.Context(), "a", "", 1) {
			if err != nil || one.Holder != hold.Owner() || one.Token != 0 {
				t.Errorf("List says that %s has token %d, %v; want %s, whose token is unknown", one.Holder, one.Token, err, hold.Owner())
			}
		}
		unlock(t, hold)
	})(t)
}

// A lock that is kept goes to another client within a few round trips, also to a try; and to a reader of its own client
// within one.
func TestKeepRecalled(t *testing.T) {
	const trip = 2 * time.Millisecond
	take, try, shared := (*redlock.Client).Lock, (*redlock.Client).TryLock, []redlock.Option{redlock.Shared()}
	for name, tt := range map[string]struct {
		call    func(*redlock.Client, context.Context, string, ...redlock.Option) (*redlock.Hold, error)
		options []redlock.Option
		own     bool
	}{
		"Lock": {take, nil, false}, "a reader": {take, shared, false}, "own reader": {take, shared, true},
		"TryLock": {try, nil, false}, "try to read": {try, shared, false}, "own try to read": {try, shared, true},
	} {
		t.Run(name, withKeeper(func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client) {
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(trip / 2) })
			unlock(t, lock(t, t.Context(), keeper, "a"))
			synctest.Wait()
			who, most := other, 6*trip
			if tt.own {
				who, most = keeper, trip
			}
			began := time.Now()
			hold, err := tt.call(who, t.Context(), "a", tt.options...)
			if took := time.Since(began); err != nil || took > most {
				t.Fatalf("%v after %v, round trips being %v", err, took, trip)
			}
			time.Sleep(time.Second)
			expectAlive(t, hold)
			unlock(t, hold)
			expectFree(t, fleet, "a")
		}))
	}
}

// Downgrade renews a hold for its own lease, and not for that of the lock that was kept.
func TestKeepDowngraded(t *testing.T) {
	withKeeper(func(t *testing.T, _ *redlocktest.Fleet, keeper, _ *redlock.Client) {
		unlock(t, lock(t, t.Context(), keeper, "a"))
		hold := lock(t, t.Context(), keeper, "a", redlock.Lease(2*time.Second))
		check.OK(t, hold.Downgrade(t.Context()), "Downgrade")
		check.AtMost(t, hold.Remaining(), 2*time.Second, "what remains of a hold for 2s after its downgrade")
		unlock(t, hold)
	})(t)
}

// A lock is kept for Config.Keep at most, and a permit is not kept. The stories of package attempt have the other cases.
func TestKeepEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client){
		"time": func(t *testing.T, fleet *redlocktest.Fleet, keeper, _ *redlock.Client) {
			for range 2 { // the second takes over what the first has left
				unlock(t, lock(t, t.Context(), keeper, "a"))
				time.Sleep(time.Second)
			}
			time.Sleep(9*time.Second - time.Millisecond)
			check.That(t, fleet.Master(0).Holder("a") != "", "not kept for 10 s")
			time.Sleep(2 * time.Millisecond)
		},
		"by force": func(t *testing.T, _ *redlocktest.Fleet, keeper, _ *redlock.Client) {
			unlock(t, lock(t, t.Context(), keeper, "a"))
			time.Sleep(time.Second)
			freed, err := redlockadmin.Of(keeper).ForceUnlock(t.Context(), "a")
			check.That(t, freed && err == nil, "ForceUnlock = %v, %v", freed, err)
		},
		"a permit": func(t *testing.T, _ *redlocktest.Fleet, keeper, _ *redlock.Client) {
			unlock(t, acquire(t, keeper, "a", 1))
		},
	} {
		t.Run(name, withKeeper(func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client) {
			end(t, fleet, keeper, other)
			time.Sleep(10 * time.Millisecond)
			expectFree(t, fleet, "a")
		}))
	}
}

// A lock of a name that moves is kept in neither of its sets.
func TestNotKeptInTwoSets(t *testing.T) {
	onRollout(func(t *testing.T, s *rollout) {
		keeping := s.open(t, redlock.Config{Keep: 10 * time.Second}, "a b", "b c")
		time.Sleep(time.Second) // it hears what is wanted
		unlock(t, lock(t, t.Context(), keeping, s.name))
		time.Sleep(10 * time.Millisecond)
		s.expectAt(t, s.name)
	})(t)
}

// LockAll takes over what is kept: nothing is sent for that name.
func TestKeepSeveral(t *testing.T) {
	for name, take := range map[string]func(*redlock.Client, context.Context, []string, ...redlock.Option) (*redlock.Holds, error){
		"LockAll": (*redlock.Client).LockAll, "TryLockAll": (*redlock.Client).TryLockAll,
	} {
		t.Run(name, withKeeper(func(t *testing.T, fleet *redlocktest.Fleet, keeper, _ *redlock.Client) {
			unlock(t, lock(t, t.Context(), keeper, "a"))
			synctest.Wait()
			before := scripts(fleet)
			holds, err := take(keeper, t.Context(), []string{"a", "b"})
			check.OK(t, err, "%s of both", name)
			synctest.Wait()
			check.Equal(t, scripts(fleet)-before, 3, "script calls, one on each master for the name that is not kept")
			expect(t, "Unlock", holds.Unlock(t.Context()))
		}))
	}
}

// A context that has ended gets no lock, also where one is kept.
func TestKeepUnderAnEndedContext(t *testing.T) {
	withKeeper(func(t *testing.T, fleet *redlocktest.Fleet, keeper, _ *redlock.Client) {
		for _, name := range []string{"a", "b"} {
			unlock(t, lock(t, t.Context(), keeper, name))
		}
		synctest.Wait()
		ctx, before := ended(t), scripts(fleet)
		for call, f := range map[string]func() error{
			"Lock":        func() error { return second(keeper.Lock(ctx, "a")) },
			"TryLock":     func() error { return second(keeper.TryLock(ctx, "a")) },
			"LockFor":     func() error { return second(keeper.Lock(ctx, "a", redlock.Lease(lease))) },
			"RLock":       func() error { return second(keeper.Lock(ctx, "a", redlock.Shared())) },
			"Do":          func() error { return keeper.Do(ctx, "a", func(context.Context) error { return nil }) },
			"Lead":        func() error { return keeper.Lead(ctx, "a", func(context.Context) error { return nil }) },
			"LockAll":     func() error { return second(keeper.LockAll(ctx, []string{"a", "b"})) },
			"TryLockAll":  func() error { return second(keeper.TryLockAll(ctx, []string{"a", "b"})) },
			"one of them": func() error { return second(keeper.LockAll(ctx, []string{"b"})) },
		} {
			expect(t, call, f(), context.Canceled)
		}
		synctest.Wait()
		check.Equal(t, scripts(fleet)-before, 0, "script calls")
		check.That(t, fleet.Master(0).Holder("a") != "", "it is not kept any more")
	})(t)
}

// TestKeepByAClientThatWasCutOff: a client that is established no more looks again before a caller takes over what it
// keeps, which it must not if others were established meanwhile; and its own lock does not stand in the way.
func TestKeepByAClientThatWasCutOff(t *testing.T) {
	for name, take := range map[string]func(*redlock.Client, context.Context, string, ...redlock.Option) (*redlock.Hold, error){
		"Lock": (*redlock.Client).Lock, "TryLock": (*redlock.Client).TryLock,
	} {
		for what, others := range map[string]bool{"alone": false, "beside others": true} {
			t.Run(name+", "+what, masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
				wires, pools := wired(fleet, 0, 0, 1, 2)
				const long = 3 * time.Minute
				c := open(t, fleet, redlock.Config{Pools: pools, Lease: long, Keep: long, NodeTimeout: long - time.Second})
				use(t, c, "warm")
				time.Sleep(time.Second)
				unlock(t, lock(t, t.Context(), c, "a"))
				synctest.Wait()
				owner := fleet.Master(0).Holder("a")
				cut(wires, true)
				time.Sleep(lease + time.Second)
				if others {
					time.Sleep(known - lease) // until it counts no more
					other, _ := joins(t, fleet, redlock.Config{Name: "other", RestartGuard: long}, 2, 3, 4)
					use(t, other, "used")
				}
				cut(wires, false)
				hold, err := take(c, t.Context(), "a")
				if others {
					expect(t, name, err, redlock.ErrOverlap)
					return
				}
				expect(t, name, err)
				check.Equal(t, hold.Owner(), owner, "the owner of what was kept")
				unlock(t, hold)
			}))
		}
	}
}
