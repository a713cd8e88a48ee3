package redlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// withKeeper runs f on time of its own, with three masters, a client that keeps locks for 10 s and another one.
func withKeeper(t *testing.T, f func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		keeper, other := open(t, fleet, redlock.Config{Keep: 10 * time.Second}), open(t, fleet, redlock.Config{})
		warm(t, keeper)
		warm(t, other)
		loadScripts(t, fleet)
		time.Sleep(time.Second)
		synctest.Wait()
		f(t, fleet, keeper, other)
	})
}

// A lock that is kept is taken over without a message, with a larger token; and its contexts end with Unlock.
func TestKeep(t *testing.T) {
	withKeeper(t, func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client) {
		first := lock(t, t.Context(), keeper, "a")
		unlock(t, first)
		synctest.Wait()
		if first.Count() != 0 || first.Context().Err() == nil {
			t.Errorf("after Unlock the hold count is %d and the context's error %v", first.Count(), first.Context().Err())
		}
		before, token := fleet.Master(0).Commands(), first.Token()
		for range 100 {
			hold := lock(t, t.Context(), keeper, "a")
			if hold.Token() <= token {
				t.Fatalf("token %d after %d", hold.Token(), token)
			}
			token = hold.Token()
			if got := hold.Remaining(); got < validity-time.Second || got > validity {
				t.Fatalf("%v remain of the hold", got)
			}
			unlock(t, hold)
		}
		if sent := fleet.Master(0).Commands() - before; sent != 0 {
			t.Errorf("%d commands for a hundred locks of what is kept, want none", sent)
		}
		for _, m := range fleet.Masters() {
			if m.Holder("a") != first.Owner() {
				t.Errorf("%s has %q, want the lock kept", m.Name(), m.Holder("a"))
			}
		}
		hold := lock(t, t.Context(), other, "a")
		if hold.Token() <= token {
			t.Errorf("another client has token %d after %d", hold.Token(), token)
		}
		unlock(t, hold)
		synctest.Wait()
		expectFree(t, fleet, "a")
	})
}

// What is kept goes to whoever wants it within two round trips, tries included; to a reader of the client that
// keeps it within one.
func TestKeepRecalled(t *testing.T) {
	for name, tt := range map[string]struct {
		take func(*redlock.Client, context.Context, string) (*redlock.Hold, error)
		own  bool
		most time.Duration
	}{
		"Lock":         {(*redlock.Client).Lock, false, 12 * time.Millisecond},
		"TryLock":      {(*redlock.Client).TryLock, false, 12 * time.Millisecond},
		"RLock":        {(*redlock.Client).RLock, false, 12 * time.Millisecond},
		"TryRLock":     {(*redlock.Client).TryRLock, false, 12 * time.Millisecond},
		"own RLock":    {(*redlock.Client).RLock, true, 2 * time.Millisecond},
		"own TryRLock": {(*redlock.Client).TryRLock, true, 2 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			withKeeper(t, func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client) {
				for _, m := range fleet.Masters() {
					m.Delay(time.Millisecond)
				}
				unlock(t, lock(t, t.Context(), keeper, "a"))
				synctest.Wait()
				who := other
				if tt.own {
					who = keeper
				}
				began := time.Now()
				hold, err := tt.take(who, t.Context(), "a")
				if took := time.Since(began); err != nil || took > tt.most {
					t.Fatalf("%v after %v, round trips being 2 ms", err, took)
				}
				time.Sleep(time.Second)
				expectAlive(t, hold)
				unlock(t, hold)
				synctest.Wait()
				expectFree(t, fleet, "a")
			})
		})
	}
}

// A hold that somebody waits for is handed on, and not kept: nobody who waits is overtaken.
func TestKeepNotWanted(t *testing.T) {
	withKeeper(t, func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client) {
		hold := lock(t, t.Context(), keeper, "a")
		next := writer(t, other)
		time.Sleep(100 * time.Millisecond)
		unlock(t, hold)
		expectHolds(t, "after the Unlock", []*waiting{next}, 0)
		unlock(t, next.returned(t))
		hold = lock(t, t.Context(), keeper, "a")
		if _, err := other.TryLock(t.Context(), "a"); err == nil {
			t.Fatal("TryLock of a lock that is held succeeds")
		}
		unlock(t, hold)
		synctest.Wait()
		expectFree(t, fleet, "a")
	})
}

// A hold that took over what was kept ends with its own validity.
func TestKeepExpires(t *testing.T) {
	withKeeper(t, func(t *testing.T, fleet *redlocktest.Fleet, keeper, _ *redlock.Client) {
		for range 2 {
			unlock(t, lock(t, t.Context(), keeper, "a"))
		}
		hold, err := keeper.LockFor(t.Context(), "a", 5*time.Second)
		expect(t, "LockFor", err)
		time.Sleep(4 * time.Second)
		expectAlive(t, hold)
		time.Sleep(time.Second)
		select {
		case <-hold.Context().Done():
		default:
			t.Error("the context goes on after the lease")
		}
		synctest.Wait()
		expectFree(t, fleet, "a")
	})
}

// It is kept for so long, and no longer; not while nobody who wants it would be heard; and not after Close.
func TestKeepEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		after time.Duration
		do    func(t *testing.T, fleet *redlocktest.Fleet, keeper *redlock.Client)
	}{
		"time":  {10 * time.Second, func(*testing.T, *redlocktest.Fleet, *redlock.Client) {}},
		"Close": {0, func(_ *testing.T, _ *redlocktest.Fleet, keeper *redlock.Client) { keeper.Close() }},
		"deaf": {0, func(_ *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
			each(fleet, 0, 3, (*redlocktest.Master).KillClients)
		}},
		"by force": {0, func(t *testing.T, _ *redlocktest.Fleet, keeper *redlock.Client) {
			if freed, err := keeper.ForceUnlock(t.Context(), "a"); !freed || err != nil {
				t.Errorf("ForceUnlock = %v, %v", freed, err)
			}
		}},
		"a reader of its own": {0, func(t *testing.T, _ *redlocktest.Fleet, keeper *redlock.Client) {
			hold, err := keeper.TryRLock(t.Context(), "a")
			expect(t, "TryRLock", err)
			unlock(t, hold)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			withKeeper(t, func(t *testing.T, fleet *redlocktest.Fleet, keeper, _ *redlock.Client) {
				for range 2 { // the second takes over what the first has left
					unlock(t, lock(t, t.Context(), keeper, "a"))
					time.Sleep(time.Second)
				}
				tt.after -= time.Second
				if tt.after > 0 {
					time.Sleep(tt.after - time.Millisecond)
					if fleet.Master(0).Holder("a") == "" {
						t.Errorf("not kept for %v", tt.after)
					}
					time.Sleep(2 * time.Millisecond)
				}
				tt.do(t, fleet, keeper)
				time.Sleep(time.Second)
				expectFree(t, fleet, "a")
			})
		})
	}
}
