package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

const (
	conflictFound = "other clients use the masters in a way that conflicts"
	conflictOver  = "the conflict with other clients is over"

	// forgotten is how long the terms of a client that is closed stay, and a beat.
	forgotten = 80 * time.Second
)

// member is a client that is called name, of the masters at places in fleet, and its log.
func member(t *testing.T, fleet *redlocktest.Fleet, name string, places ...int) (*redlock.Client, *lines) {
	t.Helper()
	return joins(t, fleet, redlock.Config{Name: name}, places...)
}

// joins is member with other settings.
func joins(t *testing.T, fleet *redlocktest.Fleet, cfg redlock.Config, places ...int) (*redlock.Client, *lines) {
	t.Helper()
	all := fleet.Pools()
	for _, i := range places {
		cfg.Pools = append(cfg.Pools, all[i])
	}
	log := new(lines)
	cfg.Logger = logger(log)
	return open(t, fleet, cfg), log
}

// ready is Ready without waiting.
func ready(c *redlock.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 0)
	defer cancel()
	return c.Ready(ctx)
}

// use takes a lock, and gives it back.
func use(t *testing.T, c *redlock.Client, name string) {
	t.Helper()
	hold := lock(t, t.Context(), c, name)
	synctest.Wait() // all masters were asked, not only the majority that a lock needs
	unlock(t, hold)
	synctest.Wait()
}

// grounds are five masters, and four sets of others.
type grounds struct {
	*redlocktest.Fleet
	sets fleets
}

// process starts a client of some of the masters, or Sets.
type process func(*testing.T, grounds) (*redlock.Client, *lines)

func ofMasters(cfg redlock.Config, places ...int) process {
	return func(t *testing.T, g grounds) (*redlock.Client, *lines) { return joins(t, g.Fleet, cfg, places...) }
}

func ofSets(name, now, next string) process {
	return func(t *testing.T, g grounds) (*redlock.Client, *lines) {
		log := new(lines)
		return g.sets.start(t, redlock.Config{Name: name, Logger: logger(log)}, now, next), log
	}
}

// TestWhoComesSecond: a process whose masters, leases or lists of sets do not go together with those of others
// that came first takes no lock, whatever its name, and is not ready, and says by whom. The first take locks and
// are ready as before, and are told. When they have gone, the second takes locks.
//
// Of lists of sets, none may be in common: so a late process that was started with the old sets is refused, and
// a second operator who moves names elsewhere.
func TestWhoComesSecond(t *testing.T) {
	t.Parallel()
	three := []int{0, 1, 2}
	named := func(name string, longest time.Duration) redlock.Config {
		return redlock.Config{Name: name, Lease: longest, RestartGuard: longest}
	}
	first := ofMasters(named("first", 0), three...)
	hidden := redlock.Config{NoRecord: true}
	for _, tt := range []struct {
		name          string
		first, second process
		want          error
		says          string
		goesOn        process // goes together with the first, whatever the second uses
	}{
		{"{1,2,3} and {3,4,5}", first, ofMasters(named("second", 0), 2, 3, 4), redlock.ErrOverlap, "first on ", nil},
		{"{1,2,3} and {2,3,4}", first, ofMasters(named("second", 0), 1, 2, 3), redlock.ErrOverlap, "first on ", nil},
		{"{1,2,3} and {1}", first, ofMasters(named("second", 0), 0), redlock.ErrOverlap, "first on ", nil},
		{
			"without records", ofMasters(hidden, three...), ofMasters(hidden, 2, 3, 4),
			redlock.ErrOverlap, "a client without a record uses", nil,
		},
		{
			"a lease above the guard of others", ofMasters(named("first", lease), three...), ofMasters(named("second", 5*time.Minute), three...),
			redlock.ErrShortGuard, "this client takes leases of 5m0s, and first on ", nil,
		},
		{
			"a guard below the leases of others", ofMasters(named("first", 5*time.Minute), three...), ofMasters(named("second", lease), three...),
			redlock.ErrShortGuard, "takes leases of 5m0s, and this client has a guard of 30s", nil,
		},
		{
			"late", ofSets("fleet", "b c", ""), ofSets("second", "a b", ""),
			redlock.ErrRoute, " has the sets b, c, this client the sets a, b; this client came second", ofSets("fleet", "b c", "a b c d"),
		},
		{
			"a rollout skipped", ofSets("fleet", "a b", ""), ofSets("second", "b c", ""),
			redlock.ErrRoute, " has the sets a, b, this client the sets b, c;", ofSets("fleet", "a b", "a b c d"),
		},
		{
			"another operator", ofSets("fleet", "a b", "b c"), ofSets("second", "b d", ""),
			redlock.ErrRoute, " has the sets a, b now and b, c next, this client the sets b, d;", ofSets("fleet", "a b", "a b c d"),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			masters(t, 5, func(t *testing.T, fleet *redlocktest.Fleet) {
				g := grounds{Fleet: fleet}
				if tt.want == redlock.ErrRoute {
					g.sets = startFleets(t, "a", "b", "c", "d")
				}
				a, logA := tt.first(t, g)
				use(t, a, "used")
				time.Sleep(time.Hour)
				b, logB := tt.second(t, g)
				refused := func(call string, err error) {
					t.Helper()
					expect(t, call, err, tt.want)
					expectSays(t, call, err, tt.says)
					if why, ok := errors.AsType[*redlock.ConflictError](err); !ok || !why.Refused || (tt.name == "without records") != (why.Client == nil) {
						t.Fatalf("%s = %v, want a *ConflictError of who was refused, and by whom", call, err)
					}
				}
				refused("Ready of the second", b.Ready(t.Context()))
				for i := range 40 {
					name := string(rune('a' + i%26)) // in any of its sets
					refused("Lock of the second", second(b.Lock(t.Context(), name)))
					refused("TryLockAll of the second", second(b.TryLockAll(t.Context(), []string{name, "b"})))
					refused("TryAcquire of the second", second(permitsOf(b, name, 2).TryAcquire(t.Context())))
					refused("Ready of the second", ready(b))
					expect(t, "Ready of the first", ready(a))
					use(t, a, "used")
					time.Sleep(5 * time.Second)
				}
				expect(t, "Conflict of the first", redlockadmin.Of(a).Conflict(), tt.want)
				if why, ok := errors.AsType[*redlock.ConflictError](redlockadmin.Of(a).Conflict()); !ok || why.Refused || !strings.Contains(why.Error(), "it came second") {
					t.Errorf("Conflict of the first = %v, want it to say that the other came second", why)
				}
				expect(t, "Conflict of the second", redlockadmin.Of(b).Conflict(), tt.want)
				if x, y := logA.count(conflictFound), logB.count(conflictFound); x == 0 || y == 0 || tt.goesOn == nil && x+y > 2 {
					t.Errorf("the logs have the conflict %d and %d times, want each client once", x, y)
				}
				if tt.goesOn != nil {
					later, _ := tt.goesOn(t, g)
					use(t, later, "used")
					expect(t, "Close", later.Close())
				}
				a.Close()
				time.Sleep(forgotten)
				use(t, b, "used")
				expect(t, "Ready of the second, alone", ready(b))
				expect(t, "Conflict of the second, alone", redlockadmin.Of(b).Conflict())
				if n := logB.count(conflictOver); n != logB.count(conflictFound) {
					t.Errorf("the log of the second has %d times that it is over, want as often as that there is one", n)
				}
			})
		})
	}
}

// TestWhoWasRefusedRefusesNobody: a client that came second, and goes on asking, keeps nobody from locks for
// longer than a minute, though its terms conflict with theirs as well.
func TestWhoWasRefusedRefusesNobody(t *testing.T) {
	masters(t, 5, func(t *testing.T, fleet *redlocktest.Fleet) {
		a, _ := member(t, fleet, "a", 0, 1, 2)
		use(t, a, "used")
		b, _ := member(t, fleet, "b", 1, 3, 4)
		for range 80 {
			_, err := b.TryLock(t.Context(), "a")
			expect(t, "TryLock", err, redlock.ErrOverlap)
			time.Sleep(time.Second)
		}
		fewer, _ := member(t, fleet, "fewer", 0, 1) // goes together with a
		use(t, fewer, "used")
	})
}

// TestOnlookers: a client that takes no lock harms nobody, whatever its masters are, and writes nothing.
func TestOnlookers(t *testing.T) {
	masters(t, 5, func(t *testing.T, fleet *redlocktest.Fleet) {
		look := func(places ...int) {
			c, _ := member(t, fleet, "looks", places...)
			_, err := redlockadmin.Of(c).Inspect(t.Context(), "a")
			expect(t, "Inspect", err)
			_, err = redlockadmin.Of(c).Clients(t.Context())
			expect(t, "Clients", err)
			_, err = listed(c, t.Context(), "*", 10)
			expect(t, "List", err)
			_ = c.Ready(t.Context())
		}
		look(0)
		time.Sleep(time.Minute)
		for i, m := range fleet.Masters() {
			if keys := m.Keys(); len(keys) > 0 {
				t.Errorf("master %d has %q, want nothing of who looks", i, keys)
			}
		}
		a, log := member(t, fleet, "a", 0, 1, 2)
		use(t, a, "used")
		look(2, 3, 4)
		for range 100 {
			time.Sleep(time.Second)
			expect(t, "Ready", ready(a))
			expect(t, "Conflict", redlockadmin.Of(a).Conflict())
		}
		if n := log.count(conflictFound); n > 0 {
			t.Errorf("the log has %d conflicts, want none", n)
		}
	})
}

// TestOfTwoAtOnceOneTakesNoLockLong: two clients with overlapping masters that are asked for their first locks
// at the same time never both take one. One of them does before long.
func TestOfTwoAtOnceOneTakesNoLockLong(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(seed), 0))
				fleet := redlocktest.Start(t, 4)
				clients := []*redlock.Client{}
				for _, places := range [][]int{{0, 1, 2}, {1, 2, 3}} {
					c, _ := member(t, fleet, fmt.Sprint(places), places...)
					clients = append(clients, c)
				}
				for _, m := range fleet.Masters() {
					m.Delay(time.Duration(r.IntN(3000)) * time.Microsecond)
					m.Skew(time.Duration(r.IntN(400)-200) * time.Millisecond)
				}
				took := make([]bool, len(clients))
				var all sync.WaitGroup
				for i, c := range clients {
					wait := time.Duration(r.IntN(2000)) * time.Microsecond
					all.Go(func() {
						time.Sleep(wait)
						for range 5 {
							hold, err := c.TryLock(t.Context(), fmt.Sprint("a", i))
							if err == nil {
								took[i] = true
								unlock(t, hold)
							}
							time.Sleep(1100 * time.Millisecond)
						}
					})
				}
				all.Wait()
				if took[0] == took[1] {
					t.Errorf("the two took locks: %v, want one of them to", took)
				}
			})
		})
	}
}

// TestFirstLockLooksOnce: to look at the terms of others costs a client one round trip, before its first
// lock, and no later one: it tells each master its terms with that. One that hangs or refuses to tell keeps nobody
// from it.
func TestFirstLockLooksOnce(t *testing.T) {
	t.Parallel()
	const trip = 10 * time.Millisecond
	for _, tt := range []struct {
		name  string
		do    func(fleet *redlocktest.Fleet)
		first time.Duration
	}{
		{"all are well", func(*redlocktest.Fleet) {}, 2 * trip},
		{"all refuse to tell", func(fleet *redlocktest.Fleet) {
			each(fleet, 0, 3, func(m *redlocktest.Master) { m.Set("redlock_sets", "text") })
		}, 2 * trip},
		{"one is down", func(fleet *redlocktest.Fleet) { fleet.Master(0).Kill() }, 2 * trip},
		{"one hangs", func(fleet *redlocktest.Fleet) { fleet.Master(0).Freeze() }, 2*trip + 100*time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			masters(t, 3, func(t *testing.T, fleet *redlocktest.Fleet) {
				other := open(t, fleet, redlock.Config{})
				use(t, other, "used") // the masters know the scripts
				c := open(t, fleet, redlock.Config{})
				time.Sleep(time.Minute)
				expect(t, "Close", other.Close()) // or it would tell its terms again
				before := fleet.Master(2).Calls("EVAL")
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(trip / 2) })
				tt.do(fleet)
				for i, want := range []time.Duration{tt.first, trip, trip} {
					start := time.Now()
					hold, err := c.TryLock(t.Context(), "a")
					expect(t, "TryLock", err)
					if took := time.Since(start); took != want {
						t.Errorf("lock %d took %v, want %v", i, took, want)
					}
					unlock(t, hold)
				}
				time.Sleep(2 * time.Second)
				if told := fleet.Master(2).Calls("EVAL") - before; told != 1 {
					t.Errorf("a master was told the terms %d times, want once", told)
				}
			})
		})
	}
}

// TestNoFalseConflictLong: what happens to masters, and changes of the set that are safe, are no conflict: not
// for those that take locks, nor for who comes then.
func TestNoFalseConflictLong(t *testing.T) {
	t.Parallel()
	five := []int{0, 1, 2, 3, 4}
	three := five[:3]
	for _, tt := range []struct {
		name     string
		one, two []int // masters of two clients
		do       func(fleet *redlocktest.Fleet)
	}{
		{"N-1 and another N", three[:2], []int{0, 1, 3}, func(*redlocktest.Fleet) {}},
		{"a majority restarts at once", three, three, func(fleet *redlocktest.Fleet) { each(fleet, 1, 3, (*redlocktest.Master).Restart) }},
		{"all restart, one soon after the other", five, five, func(fleet *redlocktest.Fleet) {
			for range 3 {
				for _, m := range fleet.Masters() {
					m.Restart()
					time.Sleep(7 * time.Second)
				}
			}
		}},
		{"a master dies, and another one comes back", three, three, func(fleet *redlocktest.Fleet) {
			fleet.Master(0).Kill()
			time.Sleep(5 * time.Minute)
			each(fleet, 0, 2, (*redlocktest.Master).Restart)
		}},
		{"a master is cut off, and restarts meanwhile", three, three, func(fleet *redlocktest.Fleet) {
			fleet.Master(0).Cut()
			time.Sleep(time.Minute)
			fleet.Master(0).Restart()
			fleet.Master(0).Mend()
		}},
		{"clocks jump", three, three, func(fleet *redlocktest.Fleet) {
			fleet.Master(0).Restart()
			fleet.Master(1).Skew(5 * time.Minute)
			time.Sleep(time.Minute)
			fleet.Master(1).Skew(-5 * time.Minute)
			fleet.Master(2).Restart()
		}},
	} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(tt.name, "/", seed), func(t *testing.T) {
				masters(t, 5, func(t *testing.T, fleet *redlocktest.Fleet) {
					a, logA := member(t, fleet, "a", tt.one...)
					time.Sleep(time.Duration(seed) * 5 * time.Second)
					b, logB := member(t, fleet, "b", tt.two...)
					use(t, a, "used")
					use(t, b, "used")
					time.Sleep(5 * time.Minute)
					tt.do(fleet)
					for range 60 { // for as long as what it left could be mistaken
						time.Sleep(5 * time.Second)
						late, _ := member(t, fleet, "late", tt.one...)
						for _, c := range []*redlock.Client{a, b, late} {
							_, err := c.TryLock(t.Context(), "x")
							expectNot(t, "TryLock", err, redlock.ErrOverlap)
							expect(t, "Conflict", redlockadmin.Of(c).Conflict())
						}
						late.Close()
					}
					if n := logA.count(conflictFound) + logB.count(conflictFound); n != 0 {
						t.Errorf("the logs have a conflict %d times, want none", n)
					}
				})
			})
		}
	}
}
