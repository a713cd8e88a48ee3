package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

const (
	conflictFound = "other clients use the masters in a way that conflicts"
	conflictOver  = "the conflict with other clients is over"

	// forgotten is when the others know that a client has closed: a record's life and a beat later.
	forgotten = 80 * time.Second
)

// member returns a client of the masters at places in fleet, and its log.
func member(t *testing.T, fleet *redlocktest.Fleet, name string, places ...int) (*redlock.Client, *lines) {
	t.Helper()
	return joins(t, fleet, redlock.Config{Name: name}, places...)
}

// joins is member with other settings.
func joins(t *testing.T, fleet *redlocktest.Fleet, cfg redlock.Config, places ...int) (*redlock.Client, *lines) {
	t.Helper()
	all := fleet.Pools()
	for _, i := range places {
		if cfg.Dial == nil {
			cfg.Pools = append(cfg.Pools, all[i])
		}
	}
	log := new(lines)
	cfg.Logger = logger(log)
	return open(t, fleet, cfg), log
}

// naming returns the settings of a client that knows its masters by addresses: name, with the number of the master as %d.
func naming(fleet *redlocktest.Fleet, name string, places ...int) redlock.Config {
	var cfg redlock.Config
	leads := make(map[string]int)
	for _, i := range places {
		at := fmt.Sprintf(name, i)
		leads[at], cfg.Masters = i, append(cfg.Masters, at)
	}
	cfg.Dial = func(ctx context.Context, _, at string) (net.Conn, error) { return fleet.Master(leads[at]).Dial(ctx) }
	return cfg
}

// alone are the options of holds that exclude each other.
var alone = map[string][]redlock.Option{"lock": nil, "permit": {redlock.Permits(1)}}

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

// process is a client of some masters or, with IDs in now, of sets.
type process struct {
	cfg       redlock.Config
	places    []int
	now, next string
}

func (p process) start(t *testing.T, fleet *redlocktest.Fleet, sets fleets) (*redlock.Client, *lines) {
	t.Helper()
	if p.now == "" {
		return joins(t, fleet, p.cfg, p.places...)
	}
	log := new(lines)
	p.cfg.Logger = logger(log)
	return sets.start(t, p.cfg, p.now, p.next), log
}

// TestWhoComesSecond: a process whose masters, leases or lists of sets conflict with those of established ones takes no
// lock of any name, is not ready, and says which client is in its way. The established ones notice nothing. When they
// have gone, the second takes locks.
//
// Two lists of sets conflict if they have no list in common: as those of a process that was started late with the old
// sets, or of a second operator who moves names elsewhere.
func TestWhoComesSecond(t *testing.T) {
	t.Parallel()
	three := []int{0, 1, 2}
	named := func(name string, longest time.Duration) redlock.Config {
		return redlock.Config{Name: name, Lease: longest, RestartGuard: longest}
	}
	hidden := redlock.Config{NoRecord: true}
	of := func(cfg redlock.Config, places ...int) process { return process{cfg: cfg, places: places} }
	ofSets := func(name, now, next string) process {
		return process{cfg: redlock.Config{Name: name}, now: now, next: next}
	}
	for _, tt := range []struct {
		name          string
		first, second process
		want          error
		says          string
		goesOn        string // the sets next of a process that goes together with the first, whatever the second uses
	}{
		{"{1,2,3} and {3,4,5}", of(named("first", 0), three...), of(named("second", 0), 2, 3, 4), redlock.ErrOverlap, "first on ", ""},
		{
			"without records", of(hidden, three...), of(hidden, 2, 3, 4),
			redlock.ErrOverlap, "a client that has ended or keeps no record uses", "",
		},
		{
			"a lease above the guard of others", of(named("first", lease), three...), of(named("second", 5*time.Minute), three...),
			redlock.ErrShortGuard, "this client takes leases of 5m0s, and first on ", "",
		},
		{
			"a guard below the leases of others", of(named("first", 5*time.Minute), three...), of(named("second", lease), three...),
			redlock.ErrShortGuard, "takes leases of 5m0s, and this client has a guard of 30s", "",
		},
		{
			"late", ofSets("fleet", "b c", ""), ofSets("second", "a b", ""),
			redlock.ErrRoute, " has the sets b, c, this client the sets a, b; that was established before, so this client takes no lock in set ", "a b c d",
		},
		{
			"another operator", ofSets("fleet", "a b", "b c"), ofSets("second", "b d", ""),
			redlock.ErrRoute, " has the sets a, b now and b, c next, this client the sets b, d;", "a b c d",
		},
	} {
		t.Run(tt.name, masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
			var sets fleets
			if tt.want == redlock.ErrRoute {
				sets = startFleets(t, "a", "b", "c", "d")
			}
			a, logA := tt.first.start(t, fleet, sets)
			use(t, a, "used")
			time.Sleep(10 * time.Minute) // for as long as anything is remembered, several times
			b, logB := tt.second.start(t, fleet, sets)
			refused := func(call string, err error) {
				t.Helper()
				expect(t, call, err, tt.want)
				check.Says(t, err, tt.says, "%s", call)
				if text := err.Error(); !strings.HasPrefix(text, "redlock: ") || strings.Count(text, "redlock: ") != 1 || strings.Contains(text, "\n") {
					t.Errorf("%s = %v, want one line that begins with redlock:, and is ours but once", call, err)
				}
				if why, ok := errors.AsType[*redlock.ConflictError](err); !ok || !why.Refused || (tt.name == "without records") != (why.Client == nil) {
					t.Fatalf("%s = %v, want a *ConflictError of a refusal, with the other client", call, err)
				}
			}
			refused("Ready of the second", b.Ready(t.Context()))
			for i := range 40 {
				name := string(rune('a' + i%26)) // in any of its sets
				refused("Lock of the second", second(b.Lock(t.Context(), name)))
				refused("TryLockAll of the second", second(b.TryLockAll(t.Context(), []string{name, "b"})))
				refused("TryAcquire of the second", second(b.TryLock(t.Context(), name, redlock.Permits(2))))
				refused("Ready of the second", ready(b))
				expect(t, "Ready of the first", ready(a))
				use(t, a, "used")
				time.Sleep(5 * time.Second)
			}
			expect(t, "Conflict of the first", redlockadmin.Of(a).Conflict())
			expect(t, "Conflict of the second", redlockadmin.Of(b).Conflict(), tt.want)
			if x, y := logA.count(conflictFound), logB.count(conflictFound); x != 0 || y == 0 || tt.goesOn == "" && y > 1 {
				t.Errorf("the logs have the conflict %d and %d times, want that of the second to have it once", x, y)
			}
			if tt.goesOn != "" {
				later, _ := ofSets("fleet", tt.first.now, tt.goesOn).start(t, fleet, sets)
				use(t, later, "used")
				expect(t, "Close", later.Close())
			}
			a.Close()
			time.Sleep(forgotten)
			use(t, b, "used")
			expect(t, "Ready of the second, alone", ready(b))
			expect(t, "Conflict of the second, alone", redlockadmin.Of(b).Conflict())
			check.Equal(t, logB.count(conflictOver), logB.count(conflictFound), "how often the log of the second has that a conflict is over")
		}))
	}
}

// TestOnlookers: a client that takes no lock writes nothing and conflicts with nobody, whatever its masters are.
func TestOnlookers(t *testing.T) {
	masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
		look := func(places ...int) {
			c, _ := member(t, fleet, "looks", places...)
			expect(t, "Inspect", second(redlockadmin.Of(c).Inspect(t.Context(), "a")))
			expect(t, "Clients", second(redlockadmin.Of(c).Clients(t.Context())))
			expect(t, "List", second(listed(c, t.Context(), "*", 10)))
			_ = c.Ready(t.Context())
		}
		look(0)
		time.Sleep(time.Minute)
		for i, m := range fleet.Masters() {
			check.Equal(t, len(m.Keys()), 0, "keys at master %d of a client that only looks", i)
		}
		a, log := member(t, fleet, "a", 0, 1, 2)
		use(t, a, "used")
		look(2, 3, 4)
		for range 100 {
			time.Sleep(time.Second)
			expect(t, "Ready", ready(a))
			expect(t, "Conflict", redlockadmin.Of(a).Conflict())
		}
		check.Equal(t, log.count(conflictFound), 0, "conflicts in the log")
	})(t)
}

// A refusal names a client whose terms conflict, also when the masters name another of several.
func TestEachRefusalNamesAClient(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		for range 4 {
			use(t, open(t, fleet, redlock.Config{MaxLease: lease, RestartGuard: lease}), "a")
		}
		other := open(t, fleet, redlock.Config{MaxLease: 5 * time.Minute, RestartGuard: 5 * time.Minute})
		named := make(map[string]bool)
		for range 20 {
			_, err := other.TryLock(t.Context(), "a")
			why, ok := errors.AsType[*redlock.ConflictError](err)
			if !ok || why.Client == nil {
				t.Fatalf("TryLock = %v, want a ConflictError with a client, as after those of %d others", err, len(named))
			}
			named[why.Client.ID] = true
			time.Sleep(10 * time.Second)
		}
		check.AtLeast(t, len(named), 2, "clients that were named: else this test shows nothing")
	})(t)
}

// TestCostOfAFirstLock: before its first lock, a client publishes its terms and reads those of others: in one round trip,
// and one more if others have other terms. A master that hangs costs 100 ms, once. A client does the same before its next
// lock after it has met a master that was down, and does not wait for one that still is.
func TestCostOfAFirstLock(t *testing.T) {
	t.Parallel()
	const trip = 10 * time.Millisecond
	for _, tt := range []struct {
		name   string
		lease  time.Duration
		known  int // masters; if not all, the client has had a lock there
		do     func(fleet *redlocktest.Fleet)
		first  time.Duration
		script int64 // calls
	}{
		{"as usual", lease, 5, func(*redlocktest.Fleet) {}, 2 * trip, 1},
		{"one is down", lease, 5, func(fleet *redlocktest.Fleet) { fleet.Master(0).Kill() }, 2 * trip, 1},
		{"one hangs", lease, 5, func(fleet *redlocktest.Fleet) { fleet.Master(0).Freeze() }, 2*trip + 100*time.Millisecond, 1},
		{"others have other terms", 20 * time.Second, 5, func(*redlocktest.Fleet) {}, 3 * trip, 2},
		{"of another master", lease, 4, func(fleet *redlocktest.Fleet) { fleet.Master(4).Restart() }, 3 * trip, 2},
		{"of another master, and one is down", lease, 3, func(fleet *redlocktest.Fleet) { fleet.Master(3).Restart() }, 3 * trip, 2},
	} {
		t.Run(tt.name, masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
			use(t, open(t, fleet, redlock.Config{}), "used") // the masters know the scripts
			each(fleet, tt.known, 5, (*redlocktest.Master).Kill)
			c := open(t, fleet, redlock.Config{Lease: tt.lease})
			if tt.known < 5 {
				use(t, c, "used")
			}
			time.Sleep(time.Minute)
			tt.do(fleet)
			synctest.Wait() // it has noticed
			if tt.known < 5 {
				time.Sleep(time.Minute)
			}
			before := fleet.Master(2).Calls("EVAL")
			each(fleet, 0, 5, func(m *redlocktest.Master) { m.Delay(trip / 2) })
			for i, most := range []time.Duration{tt.first, trip, trip} {
				start := time.Now()
				hold := must(c.TryLock(t.Context(), "a"))(t, "TryLock")
				check.AtMost(t, time.Since(start), most, "lock %d took", i)
				unlock(t, hold)
			}
			if calls := fleet.Master(2).Calls("EVAL") - before; calls > tt.script+1 { // of the other client
				t.Errorf("a master had %d script calls, want %d", calls, tt.script)
			}
		}))
	}
}

// TestFirstTermsNameAllMasters: clients that start while a master is slow to connect wait for it, so that all publish the
// same terms, which name all masters, in one script call each.
func TestFirstTermsNameAllMasters(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		fleet.Master(2).Delay(70 * time.Millisecond)
		var all sync.WaitGroup
		for i := range 2 {
			c := open(t, fleet, redlock.Config{})
			all.Go(func() {
				hold, err := c.Lock(t.Context(), fmt.Sprint("a", i))
				if expect(t, "Lock", err); err == nil {
					unlock(t, hold)
				}
			})
		}
		all.Wait()
		check.Equal(t, fleet.Master(0).Calls("EVAL"), 2, "script calls for the terms of two clients")
		check.Equal(t, strings.Count(fleet.Master(0).Get("redlock_sets"), `"run"`), 3, "masters that their terms name")
	})(t)
}

// TestAFirstLockHasTheTimeToSucceed: a first lock waits for a master that hangs for half of its own time, also behind
// callers that have more time.
func TestAFirstLockHasTheTimeToSucceed(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		fleet.Master(2).Freeze()
		c := open(t, fleet, redlock.Config{})
		go func() { expect(t, "Lock before", second(c.Lock(t.Context(), "b"))) }()
		synctest.Wait()
		ctx := within(t, t.Context(), 200*time.Millisecond)
		start := time.Now()
		hold, err := c.Lock(ctx, "a")
		if expect(t, "Lock", err); err == nil {
			unlock(t, hold)
		}
		check.Equal(t, time.Since(start), 100*time.Millisecond, "Lock took")
	})(t)
}

// TestAHolderIsKnown: others know a client as long as it has a lock, also if it is established no more, since it has met
// another master or was cut off for longer than its term.
func TestAHolderIsKnown(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(*redlocktest.Fleet){
		"has met another master": func(fleet *redlocktest.Fleet) { fleet.Master(2).Restart() },
		"was cut off": func(fleet *redlocktest.Fleet) {
			each(fleet, 0, 2, (*redlocktest.Master).Cut)
			time.Sleep(45 * time.Second)
			each(fleet, 0, 2, (*redlocktest.Master).Mend)
		},
	} {
		t.Run(what, masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
			fleet.Master(2).Kill()
			long := redlock.Config{Name: "first", Lease: 2 * time.Minute, RestartGuard: 2 * time.Minute}
			a, _ := joins(t, fleet, long, 0, 1, 2)
			held := lock(t, t.Context(), a, "job")
			happens(fleet)
			time.Sleep(5 * time.Minute)
			long.Name = "second"
			b, _ := joins(t, fleet, long, 1, 3, 4)
			expect(t, "TryLock of another client", second(b.TryLock(t.Context(), "job")), redlock.ErrOverlap)
			expect(t, "TryLock of the holder's client", second(a.TryLock(t.Context(), "other")))
			expectAlive(t, held)
			unlock(t, held)
		}))
	}
}

// TestAHolderIsKnownInAllItsSets: a process publishes its lists at a set that was away, also if it has a lock in another
// set and asks for none in this one.
func TestAHolderIsKnownInAllItsSets(t *testing.T) {
	for what, awayFirst := range map[string]bool{"away when it starts": true, "away later": false} {
		t.Run(what, inSets("a b c", func(t *testing.T, sets fleets) {
			const name = "job" // of a and b it is in a
			away := func() { each(sets["b"], 0, 3, (*redlocktest.Master).Cut) }
			if awayFirst {
				away()
			}
			old := sets.start(t, redlock.Config{Name: "old", Logger: logger(new(lines))}, "a b", "")
			held := lock(t, t.Context(), old, name)
			sets.expectAt(t, name, "a")
			away()
			time.Sleep(45 * time.Second)
			each(sets["b"], 0, 3, (*redlocktest.Master).Mend)
			time.Sleep(5 * time.Minute)
			late := sets.start(t, redlock.Config{Name: "late", Logger: logger(new(lines))}, "b c", "")
			expect(t, "TryLock of a late process", second(late.TryLock(t.Context(), name)), redlock.ErrRoute)
			expectAlive(t, held)
			unlock(t, held)
		}))
	}
}

// TestAWaiterThatMeetsAnotherMasterKeepsItsTurn: a waiter whose client meets a master meanwhile gets the lock before
// those that came later.
func TestAWaiterThatMeetsAnotherMasterKeepsItsTurn(t *testing.T) {
	t.Parallel()
	for what, options := range alone {
		t.Run(what, masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
			fleet.Master(2).Kill()
			held := lock(t, t.Context(), open(t, fleet, redlock.Config{}), "job", options...)
			first := locking(t, open(t, fleet, redlock.Config{}), "job", options...)
			time.Sleep(time.Second)
			fleet.Master(2).Restart()
			time.Sleep(time.Minute)
			second := locking(t, open(t, fleet, redlock.Config{}), "job", options...)
			time.Sleep(time.Second)
			unlock(t, held)
			hold := first.returned(t)
			expectHolds(t, "in turn", []*waiting{first, second}, 0)
			unlock(t, hold)
			unlock(t, second.returned(t))
		}))
	}
}

// TestOtherLayouts: a newcomer whose library stores locks in another layout than an established client's takes no lock.
// The established one reports it, and goes on. A client that is too old to publish a layout conflicts with none.
func TestOtherLayouts(t *testing.T) {
	number := fmt.Sprintf(`,"layout":%d`, script.Layout)
	const other, older = `,"layout":2`, ""
	for name, test := range map[string]func(t *testing.T, a *redlock.Client, log *lines, also func(layout string), begin func() *redlock.Client){
		"a newcomer": func(t *testing.T, a *redlock.Client, _ *lines, also func(string), begin func() *redlock.Client) {
			also(other)
			expect(t, "Close", a.Close())
			b := begin()
			err := b.Ready(t.Context())
			expect(t, "Ready", err, redlock.ErrLayout)
			check.Says(t, err, "a client that has ended or keeps no record has layout 2, this client layout 1; that was established before", "Ready")
			expect(t, "TryLock", second(b.TryLock(t.Context(), "job")), redlock.ErrLayout)
			time.Sleep(2 * time.Minute) // the other has gone
			use(t, b, "used")
		},
		"one that runs": func(t *testing.T, a *redlock.Client, log *lines, also func(string), _ func() *redlock.Client) {
			for range 10 {
				also(other)
				use(t, a, "used")
				time.Sleep(10 * time.Second)
			}
			expect(t, "Conflict", redlockadmin.Of(a).Conflict(), redlock.ErrLayout)
			check.AtLeast(t, log.count(conflictFound), 1, "conflicts in the log")
		},
		"older ones": func(t *testing.T, a *redlock.Client, _ *lines, also func(string), begin func() *redlock.Client) {
			also(older)
			expect(t, "Close", a.Close())
			b := begin()
			expect(t, "Ready", b.Ready(t.Context()))
			use(t, b, "used")
		},
	} {
		t.Run(name, masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
			a, log := member(t, fleet, "first", 0, 1, 2)
			use(t, a, "used")
			terms := published(fleet.Master(0))
			if !strings.Contains(terms, number) {
				t.Fatalf("a client published %s, want %s", terms, number)
			}
			also := func(layout string) {
				for i := range 3 {
					forge(t, fleet, i, time.Minute, strings.Replace(terms, number, layout, 1))
				}
			}
			test(t, a, log, also, func() *redlock.Client {
				b, _ := member(t, fleet, "second", 0, 1, 2)
				return b
			})
		}))
	}
}

// TestOthersStopNobodyLong: whatever others publish, or leave behind when they crash, a fleet goes on, and so do the
// processes that it starts.
func TestOthersStopNobodyLong(t *testing.T) {
	t.Parallel()
	all := []int{0, 1, 2, 3, 4}
	set := func(text string, places ...int) func(*testing.T, *redlocktest.Fleet) {
		return func(_ *testing.T, fleet *redlocktest.Fleet) {
			for _, i := range places {
				fleet.Master(i).Set("redlock_sets", text)
			}
		}
	}
	forged := func(life time.Duration, terms func(m *redlocktest.Master) string, places ...int) func(*testing.T, *redlocktest.Fleet) {
		return func(t *testing.T, fleet *redlocktest.Fleet) {
			for _, i := range places {
				forge(t, fleet, i, life, terms(fleet.Master(i)))
			}
		}
	}
	as := func(terms string) func(*redlocktest.Master) string {
		return func(*redlocktest.Master) string { return terms }
	}
	for name, do := range map[string]func(*testing.T, *redlocktest.Fleet){
		"a canary that crashes": func(t *testing.T, fleet *redlocktest.Fleet) {
			c, _ := member(t, fleet, "canary", 0, 1, 2, 3, 5)
			expect(t, "TryLock of the canary", second(c.TryLock(t.Context(), "job")), redlock.ErrOverlap)
			expect(t, "Close", c.Close())
		},
		"other masters":       forged(time.Minute, as(`{"masters":[{"run":"deadbeef"}],"lease":1000}`), 4),
		"long leases":         forged(time.Minute, as(`{"masters":[{"run":"deadbeef"}],"lease":999999999}`), 4),
		"no terms":            forged(time.Minute, as(`[]`), all...),
		"66 MB at a majority": set(strings.Repeat("x", 66<<20), 0, 1, 2),
		"many uses": func(t *testing.T, fleet *redlocktest.Fleet) {
			set(strings.Repeat("x {}\n", 3000), 0, 1, 2)(t, fleet)
			forged(time.Minute, as("{}"), 0, 1, 2)(t, fleet)
		},
		"longer leases of its own masters, for an hour": forged(time.Hour, func(m *redlocktest.Master) string {
			return strings.ReplaceAll(published(m), `"lease":`, `"lease":9999`)
		}, all...),
		"another type": func(_ *testing.T, fleet *redlocktest.Fleet) {
			for _, m := range fleet.Masters() {
				m.Del("redlock_sets")
				m.HSet("redlock_sets", "a", "b")
			}
		},
	} {
		t.Run(name, masters(6, func(t *testing.T, fleet *redlocktest.Fleet) {
			a, log := joins(t, fleet, redlock.Config{Name: "fleet", RestartGuard: lease}, all...)
			use(t, a, "used")
			time.Sleep(time.Hour)
			for range 6 {
				do(t, fleet)
				for range 3 {
					began, _ := joins(t, fleet, redlock.Config{Name: "new", Lease: 20 * time.Second, RestartGuard: lease}, all...)
					use(t, began, "of the new")
					expect(t, "Close", began.Close())
					use(t, a, "of the fleet")
					expect(t, "Ready", ready(a))
					time.Sleep(10 * time.Second)
				}
			}
			expect(t, "Conflict", redlockadmin.Of(a).Conflict())
			check.Equal(t, log.count(conflictFound), 0, "conflicts in the log")
		}))
	}
}

// A waiter goes on waiting if it wins the lock before its client, which was cut off, is established again. The hold that
// it gets in the end is valid.
func TestAWaiterMustBeEstablishedToWin(t *testing.T) {
	t.Parallel()
	for what, options := range alone {
		t.Run(what, masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
			wires, pools := wired(fleet, 2*time.Millisecond, 0, 1, 2)
			c := open(t, fleet, redlock.Config{Pools: pools})
			held := lock(t, t.Context(), open(t, fleet, redlock.Config{}), "job", options...)
			waits := locking(t, c, "job", options...)
			time.Sleep(time.Minute)
			cut(wires, true)
			time.Sleep(time.Minute)
			cut(wires, false)
			time.Sleep(10 * time.Second) // it stands in the queues again
			unlock(t, held)
			time.Sleep(time.Millisecond)
			each(fleet, 0, 2, (*redlocktest.Master).Freeze) // the lock was handed to the waiter, whose look has no answer
			time.Sleep(5 * time.Second)
			each(fleet, 0, 2, (*redlocktest.Master).Thaw)
			mine := waits.returned(t)
			expectAlive(t, mine)
			unlock(t, mine)
			time.Sleep(time.Second) // it returned with a majority
			expectFree(t, fleet, "job")
		}))
	}
}

// TestATryMustBeEstablishedToWin: a try whose process was cut off for longer than its term looks again before it has the
// lock, and fails if others were established meanwhile.
func TestATryMustBeEstablishedToWin(t *testing.T) {
	const long = 2 * time.Minute
	for what, others := range map[string]bool{"alone": false, "beside others": true} {
		t.Run(what, masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
			wires, pools := wired(fleet, 2*time.Millisecond, 0, 1, 2)
			c := open(t, fleet, redlock.Config{Pools: pools, Lease: long, MaxLease: long, NodeTimeout: long - time.Second})
			use(t, c, "job")
			tries := waitFor(t, func(ctx context.Context) (*redlock.Hold, error) { return c.TryLock(ctx, "job") })
			time.Sleep(3 * time.Millisecond)
			cut(wires, true) // the answers are on their way
			if others {
				time.Sleep(known) // until it counts no more
				other, _ := joins(t, fleet, redlock.Config{Name: "other", RestartGuard: long}, 2, 3, 4)
				use(t, other, "used")
				cut(wires, false)
				<-tries.done
				expect(t, "TryLock", tries.err, redlock.ErrOverlap)
				rest(settle)
				expectFree(t, fleet, "job")
				return
			}
			time.Sleep(40 * time.Second)
			each(fleet, 0, 2, (*redlocktest.Master).Freeze)
			cut(wires, false)
			time.Sleep(5 * time.Second)
			expectHolds(t, "before it has looked again", []*waiting{tries})
			each(fleet, 0, 2, (*redlocktest.Master).Thaw)
			mine := tries.returned(t)
			expectAlive(t, mine)
			unlock(t, mine)
		}))
	}
}

// wired returns pools of the masters at places, and their wires, on which each message takes lag.
func wired(fleet *redlocktest.Fleet, lag time.Duration, places ...int) (wires []*redlocktest.Wire, pools []*redis.Pool) {
	for _, i := range places {
		w := fleet.Master(i).Wire()
		w.Lag(func() time.Duration { return lag })
		wires, pools = append(wires, w), append(pools, dialing(w.Dial))
	}
	return wires, pools
}

// cut cuts wires in both directions, or mends them.
func cut(wires []*redlocktest.Wire, cut bool) {
	for _, w := range wires {
		w.Cut(cut, cut)
	}
}

// TestComesBackToOneMasterAfterAnother: a process that was cut off, and reaches one master after another, takes no lock
// before it knows the clients that only the last master knows. Neither do its waiters.
func TestComesBackToOneMasterAfterAnother(t *testing.T) {
	masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
		wires, pools := wired(fleet, time.Millisecond, 0, 1, 2)
		var refused atomic.Bool
		for i, w := range wires {
			pools[i] = dialing(func(ctx context.Context) (net.Conn, error) {
				if refused.Load() {
					return nil, errors.New("connection refused")
				}
				return w.Dial(ctx)
			})
		}
		old := open(t, fleet, redlock.Config{Name: "old", Pools: pools})
		use(t, old, "job")
		var waits []*waiting
		for name, options := range alone {
			lock(t, t.Context(), old, name, options...)
			waits = append(waits, locking(t, old, name, options...))
		}
		disconnect := func() {
			refused.Store(true)
			for _, w := range wires {
				w.Reset()
			}
		}
		disconnect()
		time.Sleep(2 * time.Minute)
		a, _ := member(t, fleet, "fleet", 2, 3, 4)
		held := lock(t, t.Context(), a, "job")
		for range 20 {
			refused.Store(false)
			for until := time.Now().Add(2 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
				if _, err := old.TryLock(t.Context(), "job"); err == nil {
					t.Fatal("two clients have the lock")
				}
			}
			disconnect()
			time.Sleep(time.Minute + rand.N(time.Second)) // what it has heard counts for a minute
		}
		refused.Store(false)
		for _, w := range waits {
			<-w.done
			expect(t, "a Lock that waited", w.err, redlock.ErrOverlap)
		}
		unlock(t, held)
	})(t)
}

// TestAListInPlaceOfADeadMasterLong: {1,2,4} conflicts with {1,2,3}, for however long 3 has been dead; and so does a list
// with other databases. A newcomer with the masters of the fleet does not.
func TestAListInPlaceOfADeadMasterLong(t *testing.T) {
	t.Parallel()
	for _, dead := range []time.Duration{0, time.Second, 3 * time.Minute} {
		t.Run(fmt.Sprint(dead), masters(4, func(t *testing.T, fleet *redlocktest.Fleet) {
			const at = "redis-%d:6379"
			a := open(t, fleet, naming(fleet, at, 0, 1, 2))
			use(t, a, "used")
			time.Sleep(time.Minute)
			fleet.Master(2).Kill()
			time.Sleep(dead)
			fleet.Master(3).Restart() // it is young
			b := open(t, fleet, naming(fleet, at, 0, 1, 3))
			expect(t, "Ready", b.Ready(t.Context()), redlock.ErrOverlap)
			expect(t, "TryLock", second(b.TryLock(t.Context(), "job")), redlock.ErrOverlap)
			c := open(t, fleet, naming(fleet, "10.0.0.%d:6379", 0, 1, 2)) // other names of the same
			use(t, c, "used")
			fleet.Master(2).Restart()
			time.Sleep(time.Minute)
			expect(t, "TryLock", second(b.TryLock(t.Context(), "job")), redlock.ErrOverlap)
			use(t, a, "used")
			use(t, c, "used")
			one := fleet.Pools(redis.DialDatabase(1))
			d := open(t, fleet, redlock.Config{Name: "database 1", Pools: []*redis.Pool{fleet.Pools()[0], one[1], one[2]}})
			expect(t, "TryLock in other databases", second(d.TryLock(t.Context(), "job")), redlock.ErrOverlap)
		}))
	}
}

// TestOtherNamesLong: a client that knows the masters by other addresses takes locks soon after a master has restarted:
// the others publish the new run id at once.
func TestOtherNamesLong(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		a := open(t, fleet, naming(fleet, "redis-%d:6379", 0, 1, 2))
		use(t, a, "used")
		for at := range 20 {
			fleet.Master(at % 3).Restart()
			b := open(t, fleet, naming(fleet, "10.0.0.%d:6379", 0, 1, 2))
			_, err := b.TryLock(t.Context(), "job")
			for end := time.Now().Add(5 * time.Second); err != nil && time.Now().Before(end); _, err = b.TryLock(t.Context(), "job") {
				expect(t, "TryLock", err, redlock.ErrOverlap)
				time.Sleep(100 * time.Millisecond)
			}
			expect(t, "TryLock 5 s after a restart", err)
			use(t, a, "used")
			expect(t, "Close", b.Close())
			time.Sleep(time.Duration(at) * 5 * time.Second)
		}
	})(t)
}

// TestListsLong: clients with several lists come and go, and are cut off, while clocks differ. No two whose lists
// conflict have the lock at once, and it is taken often.
func TestListsLong(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			for _, m := range fleet.Masters() {
				m.Skew(time.Duration(r.IntN(4000)-2000) * time.Millisecond)
			}
			var mu sync.Mutex
			held, turns := 0, 0
			var all sync.WaitGroup
			for until := time.Now().Add(10 * time.Minute); time.Now().Before(until); time.Sleep(time.Duration(r.IntN(20)) * time.Second) {
				wires, pools := wired(fleet, 3*time.Millisecond, [][]int{{0, 1, 2}, {0, 1, 3}, {1, 2, 3}, {0, 1, 2, 3}}[r.IntN(4)]...)
				c := open(t, fleet, redlock.Config{Pools: pools})
				cutAt, cutFor, lives := r.IntN(60), r.IntN(120), r.IntN(200)
				all.Go(func() {
					for s := range lives {
						cut(wires, cutAt <= s && s < cutAt+cutFor)
						if hold, err := c.TryLock(t.Context(), "job", redlock.Lease(5*time.Second)); err == nil {
							mu.Lock()
							held++
							check.AtMost(t, held, 1, "clients that have the lock")
							turns++
							mu.Unlock()
							select {
							case <-hold.Context().Done():
							case <-time.After(300 * time.Millisecond):
							}
							mu.Lock()
							held--
							mu.Unlock()
							_ = hold.Unlock(t.Context())
						}
						time.Sleep(700 * time.Millisecond)
					}
					_ = c.Close()
				})
			}
			all.Wait()
			check.AtLeast(t, turns, 100, "how often the lock was taken in 10 minutes")
		}))
	}
}

// TestNoFalseConflictLong: faults of masters, and changes of their set that are safe, are no conflict for the clients that
// take locks nor for a newcomer; whether clients know the masters by no addresses, the same ones, or each by its own.
func TestNoFalseConflictLong(t *testing.T) {
	t.Parallel()
	five := []int{0, 1, 2, 3, 4}
	three := five[:3]
	for _, tt := range []struct {
		name     string
		one, two []int // masters of two clients
		do       func(*testing.T, *redlocktest.Fleet)
	}{
		{"N-1 and another N", three[:2], []int{0, 1, 3}, func(*testing.T, *redlocktest.Fleet) {}},
		{"a majority restarts at once", three, three, func(_ *testing.T, fleet *redlocktest.Fleet) { each(fleet, 1, 3, (*redlocktest.Master).Restart) }},
		{"a client crashes, and masters restart", five, five, func(t *testing.T, fleet *redlocktest.Fleet) {
			for i, m := range fleet.Masters() {
				forge(t, fleet, i, time.Minute, published(m)) // with the run ids of now
			}
			each(fleet, 0, 2, func(m *redlocktest.Master) { m.Restart(); time.Sleep(time.Second) })
		}},
		{"all restart, one soon after the other", five, five, func(_ *testing.T, fleet *redlocktest.Fleet) {
			for range 3 {
				for _, m := range fleet.Masters() {
					m.Restart()
					time.Sleep(7 * time.Second)
				}
			}
		}},
		{"a master dies, and another one comes back", three, three, func(_ *testing.T, fleet *redlocktest.Fleet) {
			fleet.Master(0).Kill()
			time.Sleep(5 * time.Minute)
			each(fleet, 0, 2, (*redlocktest.Master).Restart)
		}},
		{"a master is cut off, and restarts meanwhile", three, three, func(_ *testing.T, fleet *redlocktest.Fleet) {
			fleet.Master(0).Cut()
			time.Sleep(time.Minute)
			fleet.Master(0).Restart()
			fleet.Master(0).Mend()
		}},
		{"clocks jump", three, three, func(_ *testing.T, fleet *redlocktest.Fleet) {
			fleet.Master(0).Restart()
			fleet.Master(1).Skew(5 * time.Minute)
			time.Sleep(time.Minute)
			fleet.Master(1).Skew(-5 * time.Minute)
			fleet.Master(2).Restart()
		}},
	} {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(tt.name, "/", seed), masters(5, func(t *testing.T, fleet *redlocktest.Fleet) {
				began := 0
				member := func(name string, places []int) (*redlock.Client, *lines) {
					var cfg redlock.Config
					switch began++; seed {
					case 1:
						cfg = naming(fleet, "redis-%d:6379", places...)
					case 2:
						cfg = naming(fleet, fmt.Sprint("127.0.0.1:", 700+began%100, "%d"), places...)
					}
					cfg.Name = name
					return joins(t, fleet, cfg, places...)
				}
				a, logA := member("a", tt.one)
				time.Sleep(time.Duration(seed) * 5 * time.Second)
				b, logB := member("b", tt.two)
				use(t, a, "used")
				use(t, b, "used")
				time.Sleep(5 * time.Minute)
				tt.do(t, fleet)
				for range 60 { // for as long as what it left could be mistaken
					time.Sleep(5 * time.Second)
					late, _ := member("late", tt.one)
					for _, c := range []*redlock.Client{a, b, late} {
						expectNot(t, "TryLock", second(c.TryLock(t.Context(), "x")), redlock.ErrOverlap)
						expect(t, "Conflict", redlockadmin.Of(c).Conflict())
					}
					late.Close()
				}
				check.Equal(t, logA.count(conflictFound)+logB.count(conflictFound), 0, "conflicts in the logs")
			}))
		}
	}
}
