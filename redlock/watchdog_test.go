package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestWatchdogRenewsEveryThird(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		hold := lock(t, t.Context(), c, "a")
		synctest.Wait()
		before := scripts(fleet)
		for round := int64(1); round <= 10; round++ {
			time.Sleep(renewEvery - 1)
			if got := hold.Remaining(); got != validity-renewEvery+1 {
				t.Errorf("Remaining before round %d = %v, want %v", round, got, validity-renewEvery+1)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if got := hold.Remaining(); got != validity {
				t.Errorf("Remaining after round %d = %v, want %v", round, got, validity)
			}
			if got := scripts(fleet) - before; got != 3*round {
				t.Errorf("%d scripts by round %d, want one a round on each master", got, round)
			}
		}
		expectCount(t, fleet, hold, "1", 1)
	})
}

func TestHoldLivesOn(t *testing.T) {
	for name, faults := range map[string]func(*redlocktest.Fleet){
		"all masters up for an hour": func(*redlocktest.Fleet) {},
		"a minority dead":            func(f *redlocktest.Fleet) { each(f, 0, 2, (*redlocktest.Master).Kill) },
		"a minority frozen":          func(f *redlocktest.Fleet) { each(f, 0, 2, (*redlocktest.Master).Freeze) },
		"a minority cut off":         func(f *redlocktest.Fleet) { each(f, 0, 2, (*redlocktest.Master).Cut) },
		"a minority restarts empty":  func(f *redlocktest.Fleet) { each(f, 0, 2, (*redlocktest.Master).Restart) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				age := 5 * time.Minute
				if strings.HasSuffix(name, "hour") {
					age = time.Hour
				}
				d := open(t, fleet, redlock.Config{})
				hold := lock(t, t.Context(), c, "a")
				synctest.Wait()
				faults(fleet)
				for range 6 {
					time.Sleep(age / 6)
					expectAlive(t, hold)
					_, err := d.TryLock(t.Context(), "a")
					expect(t, "TryLock", err, redlock.ErrTaken)
				}
				unlock(t, hold)
			})
		})
	}
}

// The next round comes a tenth of the lease after one that failed, and any that succeeds
// within the validity keeps the hold.
func TestFailedRoundIsRepeatedSoon(t *testing.T) {
	bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		start := time.Now()
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(renewEvery - time.Second)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Refuse("ERR not now") })
		time.Sleep(2 * time.Second) // one round failed
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Refuse("") })

		time.Sleep(renewAgain - time.Second - 1)
		if got, want := hold.Remaining(), validity-time.Since(start); got != want {
			t.Errorf("Remaining before the next round = %v, want %v", got, want)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := hold.Remaining(); got != validity {
			t.Errorf("Remaining after the next round = %v, want %v", got, validity)
		}
		time.Sleep(10 * time.Minute)
		expectAlive(t, hold)
	})
}

// The context ends with the validity that was confirmed last: not at the next round, and
// not a nanosecond later.
func TestContextEndsWithValidity(t *testing.T) {
	for name, fault := range map[string]func(*redlocktest.Master){
		"dead":              (*redlocktest.Master).Kill,
		"frozen":            (*redlocktest.Master).Freeze,
		"cut off":           (*redlocktest.Master).Cut,
		"refuses to write":  func(m *redlocktest.Master) { m.Refuse("MISCONF Errors writing to the AOF file") },
		"turned replica":    func(m *redlocktest.Master) { m.SetRole("slave") },
		"answers too late":  func(m *redlocktest.Master) { m.Delay(nodeTimeout) },
		"one end is frozen": func(m *redlocktest.Master) { m.Cut(); m.Freeze() },
	} {
		for _, at := range []time.Duration{0, time.Second, 10*time.Second - 1, 10*time.Second + 1, 11 * time.Second, 25 * time.Second} {
			t.Run(fmt.Sprintf("%s/%v", name, at), func(t *testing.T) {
				bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
					start := time.Now()
					hold := lock(t, t.Context(), c, "a")
					synctest.Wait()
					time.Sleep(at)
					each(fleet, 0, 3, fault)
					confirmed := at.Truncate(renewEvery)
					expectEnd(t, hold, start, confirmed+validity, redlock.ErrLost)
					if got := hold.Remaining(); got != 0 || hold.Count() != 0 {
						t.Errorf("Remaining, Count = %v, %d, want none", got, hold.Count())
					}
					expect(t, "Cause", context.Cause(hold.Context()), redlock.ErrNoQuorum)
					expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
				})
			})
		}
	}
}

// A renewal that is confirmed after the validity ended does not bring the hold back.
func TestLateRenewalDoesNotCount(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		c := open(t, fleet, redlock.Config{NodeTimeout: 25 * time.Second})
		warm(t, c)
		start := time.Now()
		hold := lock(t, t.Context(), c, "a")
		time.Sleep(time.Second)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(10 * time.Second) })
		// Sent at 10s, carried out at 20s, answered at 30s: 302ms after the end.
		expectEnd(t, hold, start, validity, redlock.ErrLost)
		time.Sleep(lease)
		if got := hold.Remaining(); got != 0 {
			t.Errorf("Remaining = %v, want 0", got)
		}
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(0) })
		time.Sleep(lease)
		expectFree(t, fleet, "a")
	})
}

// A hold that a majority no longer has is lost at the next renewal, and a minority that
// still has it is not renewed forever.
func TestHoldThatIsGoneIsLostAtTheNextRenewal(t *testing.T) {
	for name, gone := range map[string]func(*redlocktest.Fleet, *redlock.Client){
		"force unlock": func(_ *redlocktest.Fleet, c *redlock.Client) {
			_, _ = c.ForceUnlock(context.Background(), "a")
		},
		"a foreign value": func(f *redlocktest.Fleet, _ *redlock.Client) {
			each(f, 0, 3, func(m *redlocktest.Master) { m.Set("a", "no lock") })
		},
		"another owner": func(f *redlocktest.Fleet, _ *redlock.Client) { seize(f, 0, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				start := time.Now()
				hold := lock(t, t.Context(), c, "a")
				kept := lock(t, t.Context(), c, "kept")
				time.Sleep(2 * time.Second)
				gone(fleet, c)
				expectEnd(t, hold, start, renewEvery, redlock.ErrLost)
				expectNot(t, "Cause", context.Cause(hold.Context()), redlock.ErrNoQuorum)
				expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
				expectAlive(t, kept)
				unlock(t, kept)
				time.Sleep(time.Minute)
				expectQuiet(t, fleet)
			})
		})
	}
}

// A hold that masters have forgotten is set again by the next renewal, with its count and its
// token, as long as they are not guarded. Its Unlock frees it there as well.
func TestHoldIsHealed(t *testing.T) {
	for name, forget := range map[string]func(*redlocktest.Fleet){
		"flushed on one":        func(f *redlocktest.Fleet) { each(f, 0, 1, (*redlocktest.Master).FlushAll) },
		"flushed on a majority": func(f *redlocktest.Fleet) { each(f, 0, 3, (*redlocktest.Master).FlushAll) },
		"flushed":               func(f *redlocktest.Fleet) { each(f, 0, 5, (*redlocktest.Master).FlushAll) },
		"restarted":             func(f *redlocktest.Fleet) { each(f, 0, 3, (*redlocktest.Master).Restart) },
		"dead when it was taken": func(f *redlocktest.Fleet) {
			each(f, 3, 5, (*redlocktest.Master).Kill)
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 5, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				dead := strings.HasPrefix(name, "dead")
				if dead {
					forget(fleet)
				}
				hold := lock(t, t.Context(), c, "a")
				again := lock(t, hold.Context(), c, "a")
				token := hold.Token()
				synctest.Wait()
				if dead {
					each(fleet, 3, 5, (*redlocktest.Master).Restart)
				} else {
					forget(fleet)
				}
				time.Sleep(renewEvery + settle)
				expectAlive(t, hold)
				expectCount(t, fleet, hold, "2", 2)
				for _, m := range fleet.Masters() {
					if got := m.Get("redlock_fence:{a}"); got != fmt.Sprint(token) {
						t.Errorf("%s: the fencing counter is %s, want %d", m.Name(), got, token)
					}
				}
				unlock(t, again)
				unlock(t, hold)
				synctest.Wait()
				expectFree(t, fleet, "a")
				time.Sleep(time.Minute)
				expectFree(t, fleet, "a")
			})
		})
	}
}

// However a renewal and an Unlock meet, nothing is left of the hold: a renewal that is sent
// behind the release sets the lock again, and it is released again.
func TestHealingMeetsUnlock(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		for range 400 {
			hold := lock(t, t.Context(), c, "a")
			var extends sync.WaitGroup
			for range 4 {
				extends.Go(func() { _ = hold.Extend(t.Context(), lease) })
			}
			unlock(t, hold)
			extends.Wait()
			synctest.Wait()
			if expectFree(t, fleet, "a"); t.Failed() {
				return
			}
		}
	})
}

// Holds that were taken in a burst share script calls, and their renewals are spread over
// the time between two of them before long: no burst keeps the masters from others.
func TestRenewalsAreSpread(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const (
			n     = 1000
			slots = 10 // of the time between two renewals
		)
		holds := make([]*redlock.Hold, n)
		for i := range holds {
			holds[i] = lock(t, t.Context(), c, fmt.Sprint(i))
		}
		synctest.Wait()
		before := scripts(fleet)
		const rounds = 3
		time.Sleep(rounds * renewEvery)
		if got, most := scripts(fleet)-before, int64(3*2*rounds*n/24); got > most {
			t.Errorf("%d rounds for %d holds took %d scripts on three masters, want at most %d", rounds, n, got, most)
		}
		var renewed [slots]int // in each slot of the last round
		for _, hold := range holds {
			age := validity - hold.Remaining()
			if age < 0 || age >= renewEvery {
				t.Fatalf("%q was renewed %v ago, want less than %v", hold.Name(), age, renewEvery)
			}
			renewed[age*slots/renewEvery]++
		}
		for i, got := range renewed {
			if got < n/slots/2 || got > n/slots*2 {
				t.Errorf("%d holds renewed in slot %d of %v, want about %d in each", got, i, renewed, n/slots)
			}
		}
	})
}

// Holds that are too many for batches with gaps are all renewed in time.
func TestRenewalsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		c := open(t, fleet, redlock.Config{Lease: 20 * time.Millisecond})
		holds := make([]*redlock.Hold, 1000)
		for i := range holds {
			holds[i] = lock(t, t.Context(), c, fmt.Sprint(i))
		}
		time.Sleep(100 * time.Millisecond)
		for _, hold := range holds {
			if err := context.Cause(hold.Context()); err != nil {
				t.Fatalf("%q is lost: %v", hold.Name(), err)
			}
		}
	})
}

// Holds that fall due a little apart from each other come to share their calls.
func TestHoldsComeTogether(t *testing.T) {
	bubble(t, 1, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		const n = 20
		for i := range n {
			lock(t, t.Context(), c, fmt.Sprint(i))
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(renewEvery + 3*time.Second) // also the first call, which loads the script
		before := scripts(fleet)
		time.Sleep(renewEvery)
		if got := scripts(fleet) - before; got != 1 {
			t.Errorf("a round for %d holds that are due within 400ms took %d scripts, want 1", n, got)
		}
	})
}

// Nothing renews a lock that was given back or lost, however it was entered.
func TestNothingIsRenewedAfterTheEnd(t *testing.T) {
	for name, use := range map[string]func(*testing.T, *redlocktest.Fleet, *redlock.Client){
		"unlocked": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			unlock(t, lock(t, t.Context(), c, "a"))
		},
		"unlocked after a renewal": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			hold := lock(t, t.Context(), c, "a")
			time.Sleep(time.Minute)
			unlock(t, hold)
		},
		"unlocked while a renewal is under way": func(t *testing.T, f *redlocktest.Fleet, c *redlock.Client) {
			hold := lock(t, t.Context(), c, "a")
			each(f, 0, 3, func(m *redlocktest.Master) { m.Delay(100 * time.Millisecond) })
			time.Sleep(renewEvery + 50*time.Millisecond)
			unlock(t, hold)
			time.Sleep(settle)
		},
		"nested": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			outer := lock(t, t.Context(), c, "a")
			inner := lock(t, outer.Context(), c, "a")
			unlock(t, lock(t, inner.Context(), c, "a"))
			time.Sleep(time.Minute)
			unlock(t, inner)
			unlock(t, outer)
		},
		"nested in a fixed lease": func(t *testing.T, _ *redlocktest.Fleet, c *redlock.Client) {
			outer := lockFor(t, t.Context(), c, "a", lease)
			unlock(t, lock(t, outer.Context(), c, "a"))
			unlock(t, lock(t, outer.Context(), c, "a"))
			unlock(t, outer)
		},
		"lost": func(t *testing.T, f *redlocktest.Fleet, c *redlock.Client) {
			hold := lock(t, t.Context(), c, "a")
			synctest.Wait()
			each(f, 0, 2, (*redlocktest.Master).Cut)
			<-hold.Context().Done()
			each(f, 0, 2, (*redlocktest.Master).Mend)
			time.Sleep(time.Minute)
		},
		"split vote": func(t *testing.T, f *redlocktest.Fleet, c *redlock.Client) {
			each(f, 0, 2, func(m *redlocktest.Master) { m.HSet("a", another, "1") })
			_, err := c.TryLock(t.Context(), "a")
			expect(t, "TryLock", err, redlock.ErrTaken)
			time.Sleep(settle)
			each(f, 0, 2, func(m *redlocktest.Master) { m.Del("a") })
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
				use(t, fleet, c)
				expectFree(t, fleet, "a")
				expectQuiet(t, fleet)
			})
		})
	}
}
