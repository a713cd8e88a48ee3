package redlock_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestLockReenters(t *testing.T) {
	for name, start := range map[string]func(context.Context, *redlock.Hold) context.Context{
		"under the hold's context": func(_ context.Context, hold *redlock.Hold) context.Context { return hold.Context() },
		"under WithOwner":          func(ctx context.Context, _ *redlock.Hold) context.Context { return ctx },
	} {
		for call, again := range map[string]func(*redlock.Client, context.Context) (*redlock.Hold, error){
			"Lock":    func(c *redlock.Client, ctx context.Context) (*redlock.Hold, error) { return c.Lock(ctx, "a") },
			"TryLock": func(c *redlock.Client, ctx context.Context) (*redlock.Hold, error) { return c.TryLock(ctx, "a") },
			"LockFor": func(c *redlock.Client, ctx context.Context) (*redlock.Hold, error) {
				return c.LockFor(ctx, "a", time.Second)
			},
			"TryLockFor": func(c *redlock.Client, ctx context.Context) (*redlock.Hold, error) {
				return c.TryLockFor(ctx, "a", time.Second)
			},
		} {
			t.Run(name+"/"+call, func(t *testing.T) {
				bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					ctx := redlock.WithOwner(t.Context())
					outer := lock(t, ctx, c, "a")
					expectCount(t, fleet, outer, "1", 1)
					inner, err := again(c, start(ctx, outer))
					if err != nil {
						t.Fatalf("%s = %v", call, err)
					}
					expectCount(t, fleet, inner, "2", 2)
					if outer.Token() != inner.Token() || outer.Owner() != inner.Owner() {
						t.Error("the inner hold has another token or owner than the outer one")
					}
					if got := outer.Remaining(); got != validity {
						t.Errorf("Remaining = %v, want %v", got, validity)
					}
					unlock(t, inner)
					expectCount(t, fleet, outer, "1", 1)
					expectAlive(t, outer)
					unlock(t, outer)
					expectFree(t, fleet, "a")
				})
			})
		}
	}
}

func TestDoReenters(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		err := c.Do(t.Context(), "a", func(ctx context.Context) error {
			return c.Do(ctx, "a", func(ctx context.Context) error {
				expectCount(t, fleet, lock(t, ctx, c, "a"), "3", 3)
				return nil
			})
		})
		expect(t, "Do", err)
	})
}

func TestLevelsUnlockInAnyOrder(t *testing.T) {
	for name, order := range map[string][]int{"inner first": {2, 1, 0}, "outer first": {0, 1, 2}, "mixed": {1, 0, 2}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				d := open(t, fleet, redlock.Config{})
				ctx := redlock.WithOwner(t.Context())
				holds := []*redlock.Hold{lock(t, ctx, c, "a"), lock(t, ctx, c, "a"), lock(t, ctx, c, "a")}
				for left, i := range order {
					for _, still := range order[left:] {
						expectAlive(t, holds[still])
					}
					_, err := d.TryLock(t.Context(), "a")
					expect(t, "TryLock", err, redlock.ErrTaken)

					unlock(t, holds[i])
					expect(t, "Cause", context.Cause(holds[i].Context()), redlock.ErrNotHeld)
					expect(t, "second Unlock", holds[i].Unlock(t.Context()), redlock.ErrNotHeld)
					expect(t, "Extend after Unlock", holds[i].Extend(t.Context(), lease), redlock.ErrNotHeld)
				}
				unlock(t, lock(t, t.Context(), d, "a"))
			})
		})
	}
}

// Two goroutines of one owner may lock at the same time, also a free lock.
func TestOneOwnerInManyGoroutines(t *testing.T) {
	for name, delay := range map[string]time.Duration{"fast": 0, "slow": 5 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(delay) })
				ctx := redlock.WithOwner(t.Context())
				const n = 10
				holds := make(chan *redlock.Hold, n)
				for range n {
					go func() { holds <- lock(t, ctx, c, "a") }()
				}
				time.Sleep(time.Second)
				if len(holds) != n {
					t.Fatalf("%d of %d have the lock", len(holds), n)
				}
				for left := n; left > 0; left-- {
					hold := <-holds
					if got := hold.Count(); got != left {
						t.Errorf("Count = %d, want %d", got, left)
					}
					unlock(t, hold)
				}
				time.Sleep(time.Second)
				expectFree(t, fleet, "a")
				expectQuiet(t, fleet)
			})
		})
	}
}

// A caller that waits for its turn enters at once when its owner gets the lock.
func TestOwnerEntersFromTheMiddleOfTheLine(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		hold := lock(t, t.Context(), d, "a")
		ctx := redlock.WithOwner(t.Context())
		served := make(chan string, 3)
		for _, who := range []string{"owner", "stranger", "owner again"} {
			callCtx := ctx
			if who == "stranger" {
				callCtx = t.Context()
			}
			go func() {
				if _, err := c.Lock(callCtx, "a"); err == nil {
					served <- who
				}
			}()
			synctest.Wait()
		}
		unlock(t, hold)
		time.Sleep(time.Second)
		if got := []string{<-served, <-served}; got[0] != "owner" || got[1] != "owner again" {
			t.Errorf("served %q first, want the owner twice", got)
		}
		if len(served) != 0 {
			t.Errorf("a stranger got the lock that the owner has")
		}
		c.Close()
	})
}

func TestSecondLockWaits(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		for name, ctx := range map[string]context.Context{
			"without an owner":   t.Context(),
			"with another owner": redlock.WithOwner(t.Context()),
		} {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			_, err := c.Lock(ctx, "a")
			cancel()
			expect(t, "Lock "+name, err, redlock.ErrTaken, context.DeadlineExceeded)
		}
		expectCount(t, fleet, hold, "1", 1)
	})
}

func TestOwnerHoldsManyNames(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		a := lock(t, t.Context(), c, "a")
		b := lock(t, a.Context(), c, "b")
		again := lock(t, b.Context(), c, "a")
		expectCount(t, fleet, again, "2", 2)
		expectCount(t, fleet, b, "1", 1)
		if a.Owner() == b.Owner() {
			t.Error("two locks have the same owner on the masters")
		}
		unlock(t, a)
		expectAlive(t, b)
		expectAlive(t, again)
	})
}

func TestClientsDoNotShareHolds(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, fleet, redlock.Config{})
		ctx := redlock.WithOwner(t.Context())
		hold := lock(t, ctx, c, "a")
		synctest.Wait()
		_, err := d.TryLock(hold.Context(), "a")
		expect(t, "TryLock of another client", err, redlock.ErrTaken)

		b := lock(t, ctx, d, "b")
		lock(t, ctx, c, "c")
		expectCount(t, fleet, b, "1", 1)
		unlock(t, b)
		expectCount(t, fleet, lock(t, ctx, c, "a"), "2", 2)
	})
}

func TestWithOwnerKeepsTheOwner(t *testing.T) {
	ctx := redlock.WithOwner(t.Context())
	if redlock.WithOwner(ctx) != ctx {
		t.Error("WithOwner made another owner under one")
	}
}

// From then on the hold is one that Lock took.
func TestLockMakesAFixedLeaseRenewed(t *testing.T) {
	bubble(t, 3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		outer := lockFor(t, ctx, c, "a", 5*time.Second)
		time.Sleep(4 * time.Second)
		inner := lock(t, ctx, c, "a")
		if got := outer.Remaining(); got != validity {
			t.Errorf("Remaining = %v, want %v", got, validity)
		}
		time.Sleep(10 * time.Minute)
		expectAlive(t, outer)
		expectAlive(t, inner)
		unlock(t, inner)
		unlock(t, outer)
	})
}

func TestReentryNeverShortens(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		start := time.Now()
		hold := lockFor(t, ctx, c, "a", lease)
		time.Sleep(time.Second)
		unlock(t, lockFor(t, ctx, c, "a", 5*time.Second))
		if got := hold.Remaining(); got != validity-time.Second {
			t.Errorf("Remaining = %v, want %v", got, validity-time.Second)
		}
		for _, m := range fleet.Masters() {
			if got := m.TTL("a"); got != lease-time.Second {
				t.Errorf("TTL on %s = %v, want %v", m.Name(), got, lease-time.Second)
			}
		}
		expectEnd(t, hold, start, validity, redlock.ErrLost)
	})
}

// The masters must confirm a re-entry: a hold that is gone is not entered.
func TestReentryOfALostHold(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		hold := lock(t, ctx, c, "a")
		synctest.Wait()
		each(fleet, 0, 3, (*redlocktest.Master).FlushAll)

		next := lock(t, ctx, c, "a")
		expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		expectCount(t, fleet, next, "1", 1)
		if hold.Owner() == next.Owner() {
			t.Error("the next hold has the owner of the one that was lost")
		}
		_, err := c.Lock(hold.Context(), "a")
		expect(t, "Lock under the context of the lost hold", err, redlock.ErrLost, context.Canceled)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		expectCount(t, fleet, next, "1", 1)
	})
}

// Lock waits through an outage when it enters again as well, and TryLock does not.
func TestReentryDuringAnOutage(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		hold := lock(t, ctx, c, "a")
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		_, err := c.TryLock(ctx, "a")
		expect(t, "TryLock", err, redlock.ErrNoQuorum)
		if got := hold.Count(); got != 1 {
			t.Errorf("Count = %d, want 1", got)
		}
		time.AfterFunc(5*time.Second, func() { each(fleet, 0, 2, (*redlocktest.Master).RestartWithData) })
		inner := lock(t, ctx, c, "a")
		if got := inner.Count(); got != 2 || inner.Owner() != hold.Owner() {
			t.Errorf("Count = %d, want to be in the same hold twice", got)
		}
		unlock(t, inner)
		unlock(t, hold)
	})
}

// A level that is being entered does not keep a lock that was unlocked meanwhile, when
// it comes to nothing.
func TestFailedReentryBesideTheLastUnlock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		hold := lock(t, ctx, c, "a")
		each(fleet, 0, 3, (*redlocktest.Master).Freeze)
		go func() {
			short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			_, err := c.Lock(short, "a")
			expect(t, "Lock", err, context.DeadlineExceeded, redlock.ErrNoQuorum)
		}()
		synctest.Wait()
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrNoQuorum)
		each(fleet, 0, 3, (*redlocktest.Master).Thaw)
		time.Sleep(settle)
		expectFree(t, fleet, "a")
		expectQuiet(t, fleet)
	})
}

// A re-entry that was cut short takes its level back, and only that.
func TestCutReentryKeepsTheHold(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		hold := lock(t, ctx, c, "a")
		synctest.Wait()
		each(fleet, 0, 3, (*redlocktest.Master).Freeze)
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := c.TryLock(short, "a")
		expect(t, "TryLock", err, context.DeadlineExceeded)
		each(fleet, 0, 3, (*redlocktest.Master).Thaw)
		time.Sleep(settle)
		expectCount(t, fleet, hold, "1", 1)
		expectAlive(t, hold)
		unlock(t, hold)
	})
}

// A re-entry that is cut short takes back itself, and not one that came after it.
func TestReentryCutShortBesideAnother(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		synctest.Wait() // until all masters have it: one may have to be sent the script first
		unlock(t, lock(t, hold.Context(), c, "a"))
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		ctx, cancel := context.WithTimeout(hold.Context(), 5*time.Millisecond)
		defer cancel()
		cut := make(chan error, 1)
		go func() {
			_, err := c.Lock(ctx, "a")
			cut <- err
		}()
		time.Sleep(time.Millisecond)
		second := lock(t, hold.Context(), c, "a")
		expect(t, "Lock that is cut short", <-cut, context.DeadlineExceeded)
		time.Sleep(time.Second)
		if count := hold.Count(); count != 2 {
			t.Errorf("hold count %d, want 2", count)
		}
		each(fleet, 0, 3, func(m *redlocktest.Master) {
			if count := m.HGet("a", hold.Owner()); count != "2" {
				t.Errorf("hold count at %s: %s, want 2", m.Name(), count)
			}
		})
		unlock(t, second)
		unlock(t, hold)
	})
}

// A call for one hold that is cut short by the loss of another leaves the first alone.
func TestLossOfAnotherHold(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		kept, lost := lock(t, ctx, c, "kept"), lock(t, ctx, c, "a")
		inner := lock(t, lost.Context(), c, "kept")
		synctest.Wait()
		seize(fleet, 0, 3)
		<-lost.Context().Done()
		_ = inner.Unlock(lost.Context()) // says that it did not wait
		synctest.Wait()
		expectAlive(t, kept)
		expectCount(t, fleet, kept, "1", 1)
		unlock(t, kept)
	})
}

// A re-entry that waits for its own hold in an outage says so, and not that another has it.
func TestReentryInAnOutage(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		synctest.Wait()
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(hold.Context(), time.Second)
		defer cancel()
		_, err := c.Lock(ctx, "a")
		expect(t, "Lock", err, context.DeadlineExceeded, redlock.ErrNoQuorum)
		expectNot(t, "Lock", err, redlock.ErrTaken)
	})
}

// The inner Unlock gives back a level, not the lock: the client goes on to know the owner that
// has it, and does not free it as one that has gone when another caller meets it.
func TestTryLockAfterTheInnerUnlock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		outer := lock(t, t.Context(), c, "a")
		inner := lock(t, outer.Context(), c, "a")
		synctest.Wait()
		unlock(t, inner)
		synctest.Wait()
		for i := range 2 {
			hold, err := c.TryLock(t.Context(), "a")
			if hold != nil {
				t.Fatalf("TryLock %d of another caller: two holders, %s and %s", i+1, outer.Owner(), hold.Owner())
			}
			expect(t, "TryLock of another caller", err, redlock.ErrTaken)
			expectCount(t, fleet, outer, "1", 1)
		}
		expectAlive(t, outer)
		unlock(t, outer)
		expectFree(t, fleet, "a")
	})
}

// An inner Unlock that finds out that the lock is lost ends the whole hold: the outer level does
// not go on until the next renewal.
func TestInnerUnlockOfALostHold(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		outer := lock(t, t.Context(), c, "a")
		inner := lock(t, outer.Context(), c, "a")
		synctest.Wait()
		seize(fleet, 0, 2)
		expect(t, "Unlock of the inner level", inner.Unlock(t.Context()), redlock.ErrLost)
		expect(t, "Cause of the outer level after it", context.Cause(outer.Context()), redlock.ErrLost)
		select {
		case <-outer.Context().Done():
		default:
			t.Error("the outer level goes on, though the inner Unlock said that the lock is lost")
		}
		if got := outer.Count(); got != 0 || outer.Remaining() != 0 {
			t.Errorf("Count, Remaining = %d, %v, want none", got, outer.Remaining())
		}
		expect(t, "Unlock of the outer level", outer.Unlock(t.Context()), redlock.ErrLost)
	})
}

// A caller that could not enter its owner's hold in an outage, and then waits for another caller
// of the client, says that it waited for that one: the outage is long over.
func TestCutWaitAfterAReentryInAnOutage(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := redlock.WithOwner(t.Context())
		hold := lock(t, ctx, c, "a")
		synctest.Wait()
		next := await(t, c, "a")
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		time.Sleep(time.Second)
		waits, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		cut := make(chan error)
		go func() { cut <- second(c.Lock(waits, "a")) }()
		time.Sleep(time.Second) // it tries to enter
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrNoQuorum)
		each(fleet, 0, 2, (*redlocktest.Master).RestartWithData)
		holder := <-next
		synctest.Wait()
		err := <-cut
		expect(t, "Lock", err, redlock.ErrTaken, context.DeadlineExceeded)
		expectNot(t, "Lock", err, redlock.ErrNoQuorum)
		unlock(t, holder)
	})
}

// A re-entry that the masters confirm in time, and the client hears of too late, does not bring back
// the hold that has ended meanwhile: the caller gets one of its own.
func TestReentryConfirmedTooLate(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		warm(t, c)
		warmed := lock(t, t.Context(), c, "warm")
		unlock(t, lock(t, warmed.Context(), c, "warm"))
		unlock(t, warmed)
		const delay = 100 * time.Millisecond
		ctx := redlock.WithOwner(t.Context())
		outer := lockFor(t, ctx, c, "a", time.Second) // valid for 988 ms
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(delay) })
		time.Sleep(850 * time.Millisecond)
		next := lock(t, ctx, c, "a") // the masters confirm it at 950 ms, the client hears of it at 1050 ms
		expectAlive(t, next)
		if next.Owner() == outer.Owner() {
			t.Error("the caller is in the hold that has ended")
		}
		expect(t, "Unlock of the hold that has ended", outer.Unlock(t.Context()), redlock.ErrLost)
		time.Sleep(4 * delay)
		expectCount(t, fleet, next, "1", 1)
		unlock(t, next)
	})
}

// A hold's context enters that hold again and those around it. Whoever locks another name under it is
// a new owner, so goroutines of one job exclude each other, unless WithOwner made them one.
func TestWhoEntersAgain(t *testing.T) {
	bubble(t, 3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		d := open(t, redlocktest.Start(t, 3), redlock.Config{}) // of other masters
		job := lock(t, t.Context(), c, "job")
		db := lock(t, job.Context(), c, "db")
		over := lock(t, t.Context(), c, "over")
		unlock(t, over)
		both, err := c.LockAll(job.Context(), "job", "both a", "both b")
		expect(t, "LockAll", err)
		permit, err := c.Semaphore("pool", 2).Acquire(t.Context())
		expect(t, "Acquire", err)
		for _, w := range []struct {
			under  string
			ctx    context.Context
			name   string
			enters bool
		}{
			{"its own hold", job.Context(), "job", true},
			{"another hold", job.Context(), "x", false},
			{"a hold around that of the name", job.Context(), "db", false},
			{"a hold inside that of the name", db.Context(), "job", true},
			{"a hold that was given back", context.WithoutCancel(over.Context()), "over", false},
			{"a hold of another client", lock(t, t.Context(), d, "y").Context(), "y", false},
			{"a permit", permit.Context(), "pool", false},
			{"WithOwner", redlock.WithOwner(t.Context()), "z", true},
			{"WithOwner inside a hold", redlock.WithOwner(job.Context()), "v", true},
			{"WithOwner inside its own hold", redlock.WithOwner(job.Context()), "job", true},
			{"LockAll", both.Context(), "both b", true},
			{"one of LockAll", both.Hold("both a").Context(), "both b", true},
			{"LockAll inside a hold", both.Context(), "job", true},
			{"LockAll of other names", both.Context(), "u", false},
		} {
			if _, err := c.TryLock(w.ctx, w.name); err != nil && w.enters {
				t.Errorf("TryLock(%q) under %s: %v", w.name, w.under, err)
			}
			var want []error
			if !w.enters {
				want = append(want, redlock.ErrTaken)
			}
			_, err := c.TryLock(w.ctx, w.name)
			expect(t, fmt.Sprintf("second TryLock(%q) under %s", w.name, w.under), err, want...)
		}
		ctx, cancel := context.WithCancel(t.Context())
		expect(t, "Do", c.Do(ctx, "done", func(ctx context.Context) error {
			cancel()
			again, err := c.TryLock(context.WithoutCancel(ctx), "done") // to clean up
			expect(t, "TryLock in Do whose context has ended", err)
			unlock(t, again)
			_, err = c.TryLock(context.WithoutCancel(ctx), "job")
			expect(t, "TryLock of another's name in Do", err, redlock.ErrTaken)
			return nil
		}))
	})
}
