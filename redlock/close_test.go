package redlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestCloseGivesBackAllHolds(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		holds := []*redlock.Hold{
			lock(t, t.Context(), c, "a"),
			lock(t, t.Context(), c, "b"),
			lockFor(t, t.Context(), c, "c", lease),
		}
		holds = append(holds, lock(t, holds[0].Context(), c, "a"))
		expect(t, "Close", c.Close())
		for _, hold := range holds {
			expectFree(t, fleet, hold.Name())
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrClosed)
			expect(t, "Extend", hold.Extend(t.Context(), lease), redlock.ErrClosed)
			expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrClosed)
			expect(t, "second Unlock", hold.Unlock(t.Context()), redlock.ErrNotHeld)
		}
		expectQuiet(t, fleet)
	})
}

func TestCallsAfterClose(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := t.Context()
		expect(t, "Close", c.Close())
		expect(t, "second Close", c.Close())
		before := fleet.Master(0).Commands()
		for call, err := range map[string]error{
			"Lock":        second(c.Lock(ctx, "a")),
			"TryLock":     second(c.TryLock(ctx, "a")),
			"LockFor":     second(c.LockFor(ctx, "a", time.Second)),
			"TryLockFor":  second(c.TryLockFor(ctx, "a", time.Second)),
			"Do":          c.Do(ctx, "a", func(context.Context) error { return nil }),
			"Inspect":     second(c.Inspect(ctx, "a")),
			"ForceUnlock": second(c.ForceUnlock(ctx, "a")),
		} {
			expect(t, call, err, redlock.ErrClosed)
			expectNot(t, call, err, redlock.ErrTaken, redlock.ErrNoQuorum)
		}
		time.Sleep(10 * time.Minute)
		if got := fleet.Master(0).Commands() - before; got != 0 {
			t.Errorf("a closed client sent %d commands", got)
		}
	})
}

func TestCloseEndsAllWaits(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		lock(t, t.Context(), open(t, fleet, redlock.Config{}), "a") // waited for at the masters
		lock(t, t.Context(), c, "b")                                // waited for in the client
		owner := redlock.WithOwner(t.Context())
		var wg sync.WaitGroup
		for _, name := range []string{"a", "a", "b", "b"} {
			wg.Go(func() {
				_, err := c.Lock(owner, name)
				expect(t, "Lock", err, redlock.ErrClosed)
			})
		}
		time.Sleep(time.Second)
		start := time.Now()
		expect(t, "Close", c.Close())
		wg.Wait()
		if got := time.Since(start); got != 0 {
			t.Errorf("Close and all waits took %v, want none", got)
		}
		time.Sleep(time.Second)
		expectFree(t, fleet, "b")
	})
}

// Close is bounded, leaves nothing on masters that can be reached, and says which holds
// it could not give back.
func TestCloseDuringAnOutage(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"dead":    (*redlocktest.Master).Kill,
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
	} {
		for _, noticed := range []time.Duration{0, 5 * time.Second} {
			t.Run(fmt.Sprintf("%s/%v", name, noticed), func(t *testing.T) {
				bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					lock(t, t.Context(), c, "a")
					synctest.Wait()
					each(fleet, 0, 3, fault)
					time.Sleep(noticed)
					go func() {
						_, err := c.TryLock(t.Context(), "b") // a try is under way
						expect(t, "TryLock", err, redlock.ErrNoQuorum)
					}()
					go func() {
						_, err := c.Lock(t.Context(), "c")
						expect(t, "Lock", err, redlock.ErrClosed)
					}()
					synctest.Wait()
					start := time.Now()
					expect(t, "Close", c.Close(), redlock.ErrNoQuorum)
					if got := time.Since(start); got > 3*nodeTimeout {
						t.Errorf("Close took %v, want at most %v", got, 3*nodeTimeout)
					}
					synctest.Wait()
					for _, m := range fleet.Masters()[3:] {
						for _, name := range []string{"a", "b", "c"} {
							if got := m.Holder(name); got != "" {
								t.Errorf("%s has %q for %q, want it free", m.Name(), got, name)
							}
						}
					}
				})
			})
		}
	}
}

// Close waits for an Unlock that it meets, so the release is sent whoever comes first.
func TestCloseBesideUnlock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		for range 100 {
			c := open(t, fleet, redlock.Config{})
			hold := lock(t, t.Context(), c, "a")
			var wg sync.WaitGroup
			wg.Go(func() { _ = hold.Unlock(t.Context()) })
			wg.Go(func() { _ = c.Close() })
			wg.Wait()
			expectFree(t, fleet, "a")
		}
	})
}

// The same, where ending the contexts of the hold takes a while: the release comes after.
func TestCloseWaitsForASlowUnlock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		for range 50_000 {
			context.AfterFunc(hold.Context(), func() {})
		}
		synctest.Wait()
		go hold.Unlock(t.Context())
		<-hold.Context().Done()
		expect(t, "Close", c.Close())
		expectFree(t, fleet, "a")
	})
}

// A hold that is being taken as the client closes is given back as well.
func TestCloseBesideLock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		for range 100 {
			c := open(t, fleet, redlock.Config{})
			var wg sync.WaitGroup
			wg.Go(func() {
				hold, err := c.Lock(t.Context(), "a")
				if err != nil {
					expect(t, "Lock", err, redlock.ErrClosed)
					return
				}
				<-hold.Context().Done()
				expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrClosed)
			})
			wg.Go(func() { _ = c.Close() })
			wg.Wait()
			expectFree(t, fleet, "a")
		}
	})
}

func TestCloseOfAClientThatNeverConnected(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"dead":    (*redlocktest.Master).Kill,
		"frozen":  (*redlocktest.Master).Freeze,
		"cut off": (*redlocktest.Master).Cut,
		"up":      func(*redlocktest.Master) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := redlocktest.Start(t, 3)
				each(fleet, 0, 3, fault)
				c, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				expect(t, "Close", c.Close())
				if got := time.Since(start); got > 2*nodeTimeout {
					t.Errorf("Close took %v, want at most %v", got, 2*nodeTimeout)
				}
			})
		})
	}
}

func TestCloseLeavesPoolsOpen(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		pools := fleet.Pools()
		c := open(t, fleet, redlock.Config{Pools: pools})
		unlock(t, lock(t, t.Context(), c, "a"))
		expect(t, "Close", c.Close())
		for i, pool := range pools {
			conn := pool.Get()
			if _, err := conn.Do("PING"); err != nil {
				t.Errorf("PING by pool %d = %v", i, err)
			}
			conn.Close()
			if got := pool.ActiveCount() - pool.IdleCount(); got != 0 {
				t.Errorf("%d connections of pool %d are in use", got, i)
			}
		}
	})
}

// A client that closes takes no more orders, also while it waits for a call that is under way.
func TestExtendBesideClose(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		synctest.Wait()
		each(fleet, 0, 3, (*redlocktest.Master).Freeze)
		go c.TryLock(t.Context(), "b")
		synctest.Wait()
		go c.Close() // waits for it
		synctest.Wait()
		start := time.Now()
		expect(t, "Extend", hold.Extend(t.Context(), lease), redlock.ErrClosed)
		if took := time.Since(start); took != 0 {
			t.Errorf("Extend of a client that closes took %v, want no time: it is not sent", took)
		}
		each(fleet, 0, 3, (*redlocktest.Master).Thaw)
		time.Sleep(settle)
		expectFree(t, fleet, "a")
	})
}

// The lock that a closing client gives back does not pass to its own callers, who leave.
func TestCloseWithManyWaiters(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		for range 100 {
			c := open(t, fleet, redlock.Config{})
			lock(t, t.Context(), c, "a")
			for range 50 {
				go func() { expect(t, "Lock", second(c.Lock(t.Context(), "a")), redlock.ErrClosed) }()
			}
			time.Sleep(time.Second)
			expect(t, "Close", c.Close())
			expectFree(t, fleet, "a")
			expectNoQueue(t, fleet, "a")
			if t.Failed() {
				return
			}
		}
	})
}
