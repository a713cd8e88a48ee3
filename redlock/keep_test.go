package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// withKeeper runs f on time of its own, with three masters, a client that keeps locks for 10 s and another one.
func withKeeper(t *testing.T, f func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client)) {
	t.Helper()
	masters(t, 3, func(t *testing.T, fleet *redlocktest.Fleet) {
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
	const trip = 2 * time.Millisecond
	for name, take := range map[string]func(*redlock.Client, context.Context, string) (*redlock.Hold, error){
		"Lock": (*redlock.Client).Lock, "TryLock": (*redlock.Client).TryLock,
		"RLock": (*redlock.Client).RLock, "TryRLock": (*redlock.Client).TryRLock,
		"own RLock": (*redlock.Client).RLock, "own TryRLock": (*redlock.Client).TryRLock,
	} {
		t.Run(name, func(t *testing.T) {
			withKeeper(t, func(t *testing.T, fleet *redlocktest.Fleet, keeper, other *redlock.Client) {
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(trip / 2) })
				unlock(t, lock(t, t.Context(), keeper, "a"))
				synctest.Wait()
				who, most := other, 6*trip
				if strings.HasPrefix(name, "own ") {
					who, most = keeper, trip
				}
				began := time.Now()
				hold, err := take(who, t.Context(), "a")
				if took := time.Since(began); err != nil || took > most {
					t.Fatalf("%v after %v, round trips being %v", err, took, trip)
				}
				time.Sleep(time.Second)
				expectAlive(t, hold)
				unlock(t, hold)
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

// It is kept for so long, and no longer; not while nobody who wants it would be heard; and not after Close.
func TestKeepEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, fleet *redlocktest.Fleet, keeper *redlock.Client){
		"time": func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
			time.Sleep(9*time.Second - time.Millisecond)
			if fleet.Master(0).Holder("a") == "" {
				t.Error("not kept for 10 s")
			}
			time.Sleep(2 * time.Millisecond)
		},
		"Close": func(_ *testing.T, _ *redlocktest.Fleet, keeper *redlock.Client) { keeper.Close() },
		"deaf": func(_ *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
			each(fleet, 0, 3, (*redlocktest.Master).KillClients)
		},
		"by force": func(t *testing.T, _ *redlocktest.Fleet, keeper *redlock.Client) {
			if freed, err := keeper.ForceUnlock(t.Context(), "a"); !freed || err != nil {
				t.Errorf("ForceUnlock = %v, %v", freed, err)
			}
		},
		"a reader of its own": func(t *testing.T, _ *redlocktest.Fleet, keeper *redlock.Client) {
			unlock(t, got(t, "TryRLock", func(ctx context.Context) (*redlock.Hold, error) { return keeper.TryRLock(ctx, "a") }, t.Context()))
		},
		"a fixed lease": func(t *testing.T, _ *redlocktest.Fleet, keeper *redlock.Client) {
			hold := lockFor(t, t.Context(), keeper, "a", 5*time.Second)
			time.Sleep(4 * time.Second)
			expectAlive(t, hold)
			over(t, hold.Context())
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			withKeeper(t, func(t *testing.T, fleet *redlocktest.Fleet, keeper, _ *redlock.Client) {
				for range 2 { // the second takes over what the first has left
					unlock(t, lock(t, t.Context(), keeper, "a"))
					time.Sleep(time.Second)
				}
				end(t, fleet, keeper)
				time.Sleep(time.Second)
				expectFree(t, fleet, "a")
			})
		})
	}
}
