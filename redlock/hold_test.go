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

func TestHoldTells(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		warm(t, c)
		hold := lock(t, t.Context(), c, "a")
		const took = 20 * time.Millisecond // validity counts from when it was asked for
		if got := hold.Name(); got != "a" {
			t.Errorf("Name = %q, want a", got)
		}
		if got := hold.Remaining(); got != validity-took {
			t.Errorf("Remaining = %v, want %v", got, validity-took)
		}
		if got, want := hold.Until(), time.Now().Add(validity-took); !got.Equal(want) {
			t.Errorf("Until = %v, want %v", got, want)
		}
		if hold.Token() <= 0 {
			t.Errorf("Token = %d, want a positive number", hold.Token())
		}
		if uuid, number, ok := strings.Cut(hold.Owner(), ":"); len(uuid) != 36 || number == "" || !ok {
			t.Errorf("Owner = %q, want uuid:number", hold.Owner())
		}
		expectCount(t, fleet, hold, "1", 1)

		unlock(t, hold)
		if hold.Remaining() != 0 || hold.Count() != 0 || hold.Until().After(time.Now()) {
			t.Errorf("Remaining, Count, Until = %v, %d, %v after Unlock, want none", hold.Remaining(), hold.Count(), hold.Until())
		}
		if hold.Name() != "a" || hold.Token() <= 0 || hold.Owner() == "" {
			t.Error("Name, Token or Owner are gone after Unlock")
		}
	})
}

// Until is where validity ends, and stays there: a loop that waits for it comes to an end.
func TestUntilStays(t *testing.T) {
	bubble(t, 3, func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
		for name, end := range map[string]func(*redlock.Hold) time.Time{
			"expiry": func(hold *redlock.Hold) time.Time {
				end := hold.Until()
				time.Sleep(5 * time.Second)
				return end
			},
			"Unlock": func(hold *redlock.Hold) time.Time {
				unlock(t, hold)
				return time.Now()
			},
		} {
			hold := lockFor(t, t.Context(), c, "a", 2*time.Second)
			if got, want := hold.Until(), time.Now().Add(hold.Remaining()); !got.Equal(want) {
				t.Errorf("%s: Until = %v while it is held, want %v", name, got, want)
			}
			want := end(hold)
			for range 3 {
				if got := hold.Until(); !got.Equal(want) {
					t.Errorf("%s: Until = %v %v after the end, want %v", name, got, time.Since(want), want)
				}
				time.Sleep(time.Second)
			}
		}
	})
}

func TestTokensGrow(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		clients := []*redlock.Client{c, open(t, fleet, redlock.Config{}), open(t, fleet, redlock.Config{})}
		last := int64(0)
		owners := map[string]bool{}
		for i := range 30 { // at one instant, so the clock does not help
			hold := lock(t, t.Context(), clients[i%3], "a")
			if hold.Token() <= last {
				t.Errorf("Token = %d after %d, want more", hold.Token(), last)
			}
			if owners[hold.Owner()] {
				t.Errorf("Owner = %q for the second time", hold.Owner())
			}
			last, owners[hold.Owner()] = hold.Token(), true
			unlock(t, hold)
			synctest.Wait()
		}
	})
}

func TestExtend(t *testing.T) {
	const maxLease = time.Minute
	long := maxLease - maxLease/100 - 2*time.Millisecond // its validity
	for name, test := range map[string]func(*testing.T, *redlocktest.Fleet, *redlock.Hold){
		"longer": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			start := time.Now()
			expect(t, "Extend", hold.Extend(t.Context(), maxLease))
			if got := hold.Remaining(); got != long {
				t.Errorf("Remaining = %v, want %v", got, long)
			}
			expectEnd(t, hold, start, long, redlock.ErrLost)
		},
		"shorter never shortens": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			expect(t, "Extend", hold.Extend(t.Context(), 5*time.Second))
			if got := hold.Remaining(); got != validity-time.Second {
				t.Errorf("Remaining = %v, want %v", got, validity-time.Second)
			}
			for _, m := range fleet.Masters() {
				if got := m.TTL("a"); got != lease-time.Second {
					t.Errorf("TTL on %s = %v, want %v", m.Name(), got, lease-time.Second)
				}
			}
		},
		"over MaxLease": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			if err := hold.Extend(t.Context(), maxLease+time.Millisecond); err == nil {
				t.Error("Extend = nil, want an error")
			}
			expectAlive(t, hold)
		},
		"under the drift": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			if err := hold.Extend(t.Context(), 2*time.Millisecond); err == nil {
				t.Error("Extend = nil, want an error")
			}
			expectAlive(t, hold)
		},
		"after loss": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			<-hold.Context().Done()
			if got := fleet.Master(0).Holder("a"); got == "" {
				t.Log("the master has dropped it already")
			}
			expect(t, "Extend", hold.Extend(t.Context(), maxLease), redlock.ErrLost)
			expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		},
		"after Unlock": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			unlock(t, hold)
			expect(t, "Extend", hold.Extend(t.Context(), maxLease), redlock.ErrNotHeld)
		},
		"a hold that is gone": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			seize(fleet, 0, 2)
			err := hold.Extend(t.Context(), maxLease)
			expect(t, "Extend", err, redlock.ErrLost)
			expectNot(t, "Extend", err, redlock.ErrNoQuorum)
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		},
		"without a quorum": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			each(fleet, 0, 2, (*redlocktest.Master).Kill)
			err := hold.Extend(t.Context(), maxLease)
			expect(t, "Extend", err, redlock.ErrNoQuorum)
			expectNot(t, "Extend", err, redlock.ErrLost, redlock.ErrTaken)
			if got := hold.Remaining(); got != validity-time.Second {
				t.Errorf("Remaining = %v, want %v", got, validity-time.Second)
			}
			expectAlive(t, hold)
		},
		"under a deadline": func(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold) {
			each(fleet, 0, 2, (*redlocktest.Master).Freeze)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			expect(t, "Extend", hold.Extend(ctx, maxLease), context.DeadlineExceeded)
			if got := time.Since(start); got != 100*time.Millisecond {
				t.Errorf("Extend took %v, want 100ms", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
				c := open(t, fleet, redlock.Config{MaxLease: maxLease})
				hold := lockFor(t, t.Context(), c, "a", lease)
				time.Sleep(time.Second)
				test(t, fleet, hold)
			})
		})
	}
}

// The watchdog's renewals are shorter than the extension, and take nothing from it.
func TestExtensionOutlivesRenewals(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		const maxLease = time.Hour
		long := maxLease - maxLease/100 - 2*time.Millisecond
		c := open(t, fleet, redlock.Config{MaxLease: maxLease})
		start := time.Now()
		hold := lock(t, t.Context(), c, "a")
		expect(t, "Extend", hold.Extend(t.Context(), maxLease))
		time.Sleep(time.Minute)
		if got := hold.Remaining(); got != long-time.Minute {
			t.Errorf("Remaining = %v, want %v", got, long-time.Minute)
		}
		each(fleet, 0, 2, (*redlocktest.Master).Kill)
		expectEnd(t, hold, start, long, redlock.ErrLost)
	})
}

func TestContextOfAHold(t *testing.T) {
	type key struct{}
	for name, test := range map[string]func(*testing.T, *redlocktest.Fleet, *redlock.Client){
		"keeps values": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			hold := lock(t, context.WithValue(t.Context(), key{}, "v"), c, "a")
			if got := hold.Context().Value(key{}); got != "v" {
				t.Errorf("Value = %v, want v", got)
			}
		},
		"outlives the context of the wait": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			hold := lock(t, ctx, c, "a")
			time.Sleep(10 * time.Minute)
			cancel()
			expectAlive(t, hold)
			if _, ok := hold.Context().Deadline(); ok {
				t.Error("it has the deadline of the wait")
			}
			unlock(t, hold)
		},
		"of an inner hold outlives the outer one": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			outer := lock(t, t.Context(), c, "a")
			inner := lock(t, outer.Context(), c, "a")
			unlock(t, outer)
			expectAlive(t, inner)
		},
		"ends with Unlock": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			hold := lock(t, t.Context(), c, "a")
			unlock(t, hold)
			expect(t, "Err", hold.Context().Err(), context.Canceled)
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrNotHeld)
			expectNot(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		},
		"ends with Unlock before the lock is free": func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			hold := lock(t, t.Context(), c, "a")
			each(fleet, 0, 3, (*redlocktest.Master).Freeze)
			go hold.Unlock(t.Context())
			synctest.Wait()
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrNotHeld)
			each(fleet, 0, 3, (*redlocktest.Master).Thaw)
		},
		"of every level ends with loss": func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
			outer := lock(t, t.Context(), c, "a")
			inner := lock(t, outer.Context(), c, "a")
			each(fleet, 0, 2, (*redlocktest.Master).Kill)
			time.Sleep(validity)
			synctest.Wait()
			expect(t, "Cause of the outer hold", context.Cause(outer.Context()), redlock.ErrLost)
			expect(t, "Cause of the inner hold", context.Cause(inner.Context()), redlock.ErrLost)
		},
		"ends with Close": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			hold := lock(t, t.Context(), c, "a")
			c.Close()
			expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrClosed)
			expectNot(t, "Cause", context.Cause(hold.Context()), redlock.ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) { bubble(t, 3, test) })
	}
}

// The time of a client that has just begun is that of its masters as well, in its very first
// token.
func TestFirstTokenHasTheTimeOfTheMasters(t *testing.T) {
	for name, take := range map[string]func(*redlock.Client, context.Context) (*redlock.Hold, error){
		"Lock":    func(c *redlock.Client, ctx context.Context) (*redlock.Hold, error) { return c.Lock(ctx, "a") },
		"TryLock": func(c *redlock.Client, ctx context.Context) (*redlock.Hold, error) { return c.TryLock(ctx, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Skew(-time.Hour); m.Delay(time.Millisecond) })
				c, err := redlock.New(redlock.Config{Pools: fleet.Pools(), RestartGuard: -1})
				expect(t, "New", err)
				defer c.Close()
				hold, err := take(c, t.Context()) // before it has connected
				expect(t, name, err)
				if ahead := time.Until(time.UnixMicro(hold.Token())); (ahead + time.Hour).Abs() > time.Second {
					t.Errorf("the token is %v ahead of our clock, want an hour behind", ahead)
				}
				unlock(t, hold)
			})
		})
	}
}
