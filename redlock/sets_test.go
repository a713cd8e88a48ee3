package redlock_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// fleets are sets of masters, by ID.
type fleets map[string]*redlocktest.Fleet

// startFleets starts a set of three masters for each ID.
func startFleets(t *testing.T, ids ...string) fleets {
	t.Helper()
	f := make(fleets)
	for _, id := range ids {
		f[id] = redlocktest.Start(t, 3)
	}
	return f
}

// open makes the client of one process, which must be ready, with the IDs in now and next.
func (f fleets) open(t *testing.T, cfg redlock.Config, now, next string) *redlock.Client {
	t.Helper()
	s := f.start(t, cfg, now, next)
	expect(t, "Ready", s.Ready(t.Context()))
	return s
}

// start is open without waiting for Ready.
func (f fleets) start(t *testing.T, cfg redlock.Config, now, next string) *redlock.Client {
	t.Helper()
	of := redlock.SetsConfig{Sets: make(map[string]redlock.Config), Now: strings.Fields(now), Next: strings.Fields(next)}
	if cfg.RestartGuard == 0 {
		cfg.RestartGuard = redlock.GuardOff
	}
	for _, id := range append(of.Now, of.Next...) {
		cfg.Pools = f[id].Pools()
		of.Sets[id] = cfg
	}
	return newSets(t, of)
}

// newSets makes the client of one process, which is closed with the test.
func newSets(t *testing.T, cfg redlock.SetsConfig) *redlock.Client {
	t.Helper()
	s := must(redlock.NewSets(cfg))(t, "NewSets")
	t.Cleanup(func() { s.Close() })
	return s
}

// at returns the IDs of the sets where a majority of the masters has a holder of name.
func (f fleets) at(name string) (ids []string) {
	rest(10 * time.Millisecond)
	for id, fleet := range f {
		n := 0
		for _, m := range fleet.Masters() {
			if m.Holder(name) != "" {
				n++
			}
		}
		if n >= 2 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (f fleets) expectAt(t *testing.T, name string, want ...string) {
	t.Helper()
	got := f.at(name)
	check.That(t, slices.Equal(got, want), "%q is held in sets %q, want %q", name, got, want)
}

// nameIn returns a name that s locks in those sets.
func nameIn(t *testing.T, s *redlock.Client, ids ...string) string {
	t.Helper()
	for i := range 1000 {
		if name := fmt.Sprint("name-", i); slices.Equal(redlockadmin.Of(s).SetsOf(name), ids) {
			return name
		}
	}
	t.Fatalf("no name is in %q", ids)
	return ""
}

// Each name is in one set, the same in every process and version. Sets get about the same number of names, and one that is
// added moves no names but its own.
func TestSetsSpreadNames(t *testing.T) {
	inSets("a b c d", func(t *testing.T, f fleets) {
		three := f.open(t, redlock.Config{}, "a b c", "")
		four := f.open(t, redlock.Config{}, "d c b a", "")
		count := map[string]int{}
		const names = 4000
		for i := range names {
			name := fmt.Sprint("orders:", i)
			old, now := redlockadmin.Of(three).SetsOf(name)[0], redlockadmin.Of(four).SetsOf(name)[0]
			count[now]++
			check.That(t, old == now || now == "d", "%q moves from %q to %q, which was there before", name, old, now)
		}
		for id, n := range count {
			check.That(t, n >= names/4*9/10 && n <= names/4*11/10, "set %q has %d of %d names, want a quarter", id, n, names)
		}
		// If these change, processes of two versions lock a name in two places.
		var got []string
		for _, name := range []string{"orders:42", "orders:43", "invoices:7", "", "ü", strings.Repeat("x", 1000)} {
			got = append(got, redlockadmin.Of(four).SetsOf(name)...)
		}
		check.Equal(t, fmt.Sprint(got), "[c b a a d a]", "SetsOf, forever")
	})(t)
}

// NewSets refuses sets that names cannot be spread over, and leaves no connection open.
func TestSetsAreChecked(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		good := redlock.Config{Pools: fleet.Pools(), RestartGuard: redlock.GuardOff}
		all := func(ids ...string) map[string]redlock.Config {
			sets := make(map[string]redlock.Config)
			for _, id := range ids {
				sets[id] = good
			}
			return sets
		}
		ab := []string{"a", "b"}
		at := func(masters ...string) redlock.Config { return redlock.Config{Masters: masters} }
		for want, cfg := range map[string]redlock.SetsConfig{
			"Sets is empty":         {Now: ab},
			"Next without Now":      {Sets: all(ab...), Next: ab},
			"has no set \"c\"":      {Sets: all(ab...), Now: ab, Next: []string{"a", "c"}},
			"is empty":              {Sets: all("")},
			"has a zero byte":       {Sets: all("a\x00")},
			"more than 100 bytes":   {Sets: all(strings.Repeat("a", 101))},
			"\"a\" is listed twice": {Sets: all(ab...), Now: []string{"a", "b", "a"}},
			"\"b\" is neither in":   {Sets: all(ab...), Now: ab[:1]},
			"from set \"a\" to set \"c\"": {
				Sets: map[string]redlock.Config{"a": at("m1:1", "m2:1", "m3:1"), "b": at("m3:1", "m4:1", "m5:1"), "c": at("m3:1", "m6:1", "m7:1")},
				Now:  ab, Next: []string{"b", "a", "c"},
			},
			"from set \"a\" to set \"b\"": {Sets: all(ab...), Now: ab[:1], Next: ab[1:]},
			"set \"c\": redlock: Confi":   {Sets: map[string]redlock.Config{"a": good, "c": {}}},
		} {
			for range 9 {
				check.Says(t, second(redlock.NewSets(cfg)), want, "NewSets")
			}
		}
		time.Sleep(settle)
		for _, m := range fleet.Masters() {
			check.Equal(t, m.Connections(), 0, "open connections to %s", m.Name())
		}
		one, two := good, good
		one.Pools, two.Pools = good.Pools[:1], good.Pools[1:]
		s := newSets(t, redlock.SetsConfig{Sets: map[string]redlock.Config{"a": one, "b": two}, Now: ab, Next: ab[:1]})
		check.Says(t, second(s.LockAll(t.Context(), nil)), "no name to lock", "LockAll of no names")
		check.Says(t, second(s.Lock(t.Context(), "")), "empty", "Lock of no name")
		check.Says(t, second(s.TryLock(t.Context(), nameIn(t, s, "a", "b"), redlock.Lease(time.Hour))), "lease 1h", "TryLockFor of an hour")
	})(t)
}

// TestMovesBetweenTheSame: a lock of a name that moves between sets with one server in common is refused: it would wait
// for itself there. It would not in another of the server's databases.
func TestMovesBetweenTheSame(t *testing.T) {
	bubble(4, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		moving := func(fleet *redlocktest.Fleet, options ...redis.DialOption) *redlock.Client {
			a, b := fleet.Pools()[:3], fleet.Pools(options...)[1:]
			return newSets(t, redlock.SetsConfig{Sets: map[string]redlock.Config{
				"a": {Pools: a, RestartGuard: redlock.GuardOff}, "b": {Pools: b, RestartGuard: redlock.GuardOff},
			}, Now: []string{"a"}, Next: []string{"b"}})
		}
		use(t, moving(redlocktest.Start(t, 4), redis.DialDatabase(1)), "n")
		s := moving(fleet)
		ctx := within(t, t.Context(), time.Minute)
		for range 2 {
			check.Says(t, second(s.Lock(ctx, "n")), "a lock would wait for itself there", "Lock")
			check.Says(t, second(s.TryLockAll(ctx, []string{"m", "n"})), "pool 1", "TryLockAll")
		}
	})(t)
}

// TestSetsShareMasters: sets that names are spread over may share masters. A process in which one of the IDs stands for
// other masters takes no lock in that set.
func TestSetsShareMasters(t *testing.T) {
	masters(7, func(t *testing.T, fleet *redlocktest.Fleet) {
		spread := func(two ...int) *redlock.Client {
			cfg := redlock.SetsConfig{Sets: map[string]redlock.Config{}}
			for id, places := range map[string][]int{"east": {0, 1, 2}, "west": two} {
				var pools []*redis.Pool
				for _, i := range places {
					pools = append(pools, fleet.Pools()[i])
				}
				cfg.Sets[id] = redlock.Config{Pools: pools, RestartGuard: redlock.GuardOff}
			}
			return newSets(t, cfg)
		}
		all := []*redlock.Client{spread(2, 3, 4), spread(2, 3, 4)}
		east, west := nameIn(t, all[0], "east"), nameIn(t, all[0], "west")
		for _, s := range all {
			use(t, s, east)
			use(t, s, west)
		}
		looks, _ := member(t, fleet, "looks", 0, 1, 2)
		time.Sleep(time.Minute)
		for _, s := range all {
			expect(t, "Ready", s.Ready(t.Context()))
			expect(t, "Conflict", redlockadmin.Of(s).Conflict())
		}
		clients := must(redlockadmin.Of(looks).Clients(t.Context()))(t, "Clients")
		for i := range clients {
			for j := range i {
				_, conflict := clients[i].Terms.Compare(clients[j].Terms)
				expect(t, "Compare of two clients", conflict)
			}
		}
		wrong := spread(2, 5, 6)
		expect(t, "TryLock in a set with other masters", second(wrong.TryLock(t.Context(), west)), redlock.ErrOverlap)
		expect(t, "Conflict", redlockadmin.Of(wrong).Conflict(), redlock.ErrOverlap)
		use(t, wrong, east)
	})(t)
}

// TestSetsWithOtherMasters: a process in which the IDs stand for other masters takes no lock in those sets, though it
// shares no master of them with others.
func TestSetsWithOtherMasters(t *testing.T) {
	for _, tt := range []struct {
		what, ids string
		far, late time.Duration // all masters, and those of the last set besides
	}{
		{"swapped", "b a", 0, 0},
		{"one elsewhere", "x b", 0, 0},
		{"one elsewhere, and all far away", "x b", 60 * time.Millisecond, 0},
		{"one elsewhere, and the other set further away", "x b", 0, 300 * time.Millisecond},
	} {
		t.Run(tt.what, inSets("a b x", func(t *testing.T, f fleets) {
			at := strings.Fields(tt.ids)
			fleet := f.open(t, redlock.Config{Name: "fleet"}, "a b", "")
			name := nameIn(t, fleet, "a")
			hold := lock(t, t.Context(), fleet, name)
			time.Sleep(time.Minute)
			for id, fleet := range f {
				each(fleet, 0, 3, func(m *redlocktest.Master) { m.Delay(tt.far + map[string]time.Duration{at[1]: tt.late}[id]) })
			}
			wrong := fleets{"a": f[at[0]], "b": f[at[1]]}.start(t, redlock.Config{Name: "wrong", NodeTimeout: 2 * time.Second}, "a b", "")
			if tt.late > 0 {
				use(t, wrong, name) // it knows of no other
				time.Sleep(5 * time.Second)
			}
			for range 60 {
				expect(t, "TryLock of the other", second(wrong.TryLock(t.Context(), name)), redlock.ErrOverlap)
				time.Sleep(time.Second)
			}
			expect(t, "Unlock", hold.Unlock(t.Context()))
			use(t, fleet, name)
		}))
	}
}

// TestCutOffFromTwoSets: a process that was cut off from both of its sets is refused as soon as it reaches the one where
// it is known that others took its place.
func TestCutOffFromTwoSets(t *testing.T) {
	inSets("a b x", func(t *testing.T, f fleets) {
		wires, pools := wired(f["x"], 0, 0, 1, 2)
		late, others := wired(f["b"], 0, 0, 1, 2)
		old := newSets(t, redlock.SetsConfig{Now: []string{"a", "b"}, Sets: map[string]redlock.Config{
			"a": {Name: "old", Pools: pools, RestartGuard: redlock.GuardOff}, "b": {Name: "old", Pools: others, RestartGuard: redlock.GuardOff},
		}})
		name := nameIn(t, old, "a")
		use(t, old, name)
		time.Sleep(time.Minute)
		cut(wires, true)
		cut(late, true)
		time.Sleep(2 * time.Minute)
		fleet := f.open(t, redlock.Config{Name: "fleet"}, "a b", "")
		defer unlock(t, lock(t, t.Context(), fleet, name))
		cut(wires, false)
		time.Sleep(10 * time.Second)
		use(t, old, name) // it reaches nobody who knows of the fleet
		cut(late, false)
		time.Sleep(20 * time.Second)
		for range 60 {
			expect(t, "TryLock of the old process", second(old.TryLock(t.Context(), name)), redlock.ErrOverlap)
			time.Sleep(time.Second)
		}
	})(t)
}

// TestSetsBesideAClientOfOne: while a client of New uses the masters of a set, names that move to or from it are refused,
// and the error says which of the two clients has no sets.
func TestSetsBesideAClientOfOne(t *testing.T) {
	inSets("a b", func(t *testing.T, f fleets) {
		use(t, open(t, f["a"], redlock.Config{RestartGuard: redlock.GuardOff}), "used")
		time.Sleep(time.Minute)
		s := f.start(t, redlock.Config{}, "a", "a b")
		use(t, s, nameIn(t, s, "a"))
		_, err := s.Lock(t.Context(), nameIn(t, s, "a", "b"))
		expect(t, "Lock of a name that moves", err, redlock.ErrOverlap)
		check.Says(t, err, ` (no sets), this client run `, "Lock of a name that moves")
		check.Says(t, err, ` (set "b")`, "Lock of a name that moves")
	})(t)
}

// TestAnOutageOfOneSetCostsOthersNothing: in an outage of one set, however often callers ask for its locks, a lock in
// another set takes no longer.
func TestAnOutageOfOneSetCostsOthersNothing(t *testing.T) {
	inSets("a b", func(t *testing.T, f fleets) {
		s := f.open(t, redlock.Config{Logger: slog.New(slog.DiscardHandler)}, "a b", "")
		name, away := nameIn(t, s, "a"), nameIn(t, s, "b")
		use(t, s, name)
		use(t, s, away)
		each(f["b"], 0, 2, (*redlocktest.Master).Kill)
		w := waitFor(t, func(ctx context.Context) (*redlock.Hold, error) {
			for ctx.Err() == nil {
				short, cancel := context.WithTimeout(ctx, 10*time.Second)
				_, err := s.Lock(short, away)
				cancel()
				if ctx.Err() == nil { // or the test has ended
					expect(t, "Lock in the set that is away", err, redlock.ErrNoQuorum)
				}
			}
			return nil, nil
		})
		defer w.cancel()
		for i := range 40 {
			start := time.Now()
			use(t, s, name)
			check.Equal(t, time.Since(start), 0, "lock %d took", i)
			time.Sleep(7 * time.Second)
		}
	})(t)
}

// TestASickSetCostsOthersNothing: if a process starts in an outage of one set, its first lock in another set takes 100 ms
// longer at most, and later ones do not.
func TestASickSetCostsOthersNothing(t *testing.T) {
	for what, do := range map[string]func(*redlocktest.Master){"killed": (*redlocktest.Master).Kill, "frozen": (*redlocktest.Master).Freeze, "cut": (*redlocktest.Master).Cut} {
		t.Run(what, inSets("a b", func(t *testing.T, f fleets) {
			each(f["b"], 0, 2, do)
			f["b"].Master(2).Delay(40 * time.Millisecond)
			s := f.start(t, redlock.Config{}, "a b", "")
			name := nameIn(t, s, "a")
			time.Sleep(time.Minute)
			for i := range 20 {
				start := time.Now()
				hold := must(s.TryLock(t.Context(), name))(t, "TryLock")
				if took := time.Since(start); took > 200*time.Millisecond || i > 0 && took > 0 {
					t.Errorf("lock %d took %v", i, took)
				}
				unlock(t, hold)
				time.Sleep(time.Second)
			}
		}))
	}
}

// TestNothingIsTakenWhileASetIsAway: LockAll of names in two sets takes none in an outage of one of the sets.
func TestNothingIsTakenWhileASetIsAway(t *testing.T) {
	for what, of := range map[string][]string{"a, b": {"a", "b"}, "b, a": {"b", "a"}, "a, b, a": {"a", "b", "a"}, "b, a, b": {"b", "a", "b"}} {
		t.Run(what, inSets("a b", func(t *testing.T, f fleets) {
			s := f.open(t, redlock.Config{Logger: slog.New(slog.DiscardHandler)}, "a b", "")
			var names []string
			for i := 0; len(names) < len(of); i++ {
				if name := fmt.Sprintf("name-%03d", i); redlockadmin.Of(s).SetsOf(name)[0] == of[len(names)] {
					names = append(names, name)
				}
			}
			each(f["a"], 0, 2, (*redlocktest.Master).Kill)
			rest(time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			expect(t, "LockAll", second(s.LockAll(ctx, names)), redlock.ErrNoQuorum)
			for i, name := range names {
				if got := f["b"].Master(0).Get("redlock_fence:{" + name + "}"); of[i] == "b" && got != "" {
					t.Errorf("%q was locked in set b", name)
				}
			}
		}))
	}
}

// TestALeaseThatIsTooShortIsNotAskedForInAHurry: a caller pauses before it starts over, if a name that moves is lost in the
// first set before it is held in the second.
func TestALeaseThatIsTooShortIsNotAskedForInAHurry(t *testing.T) {
	for what, taken := range map[string]bool{"the second is free": false, "somebody else has the second": true} {
		t.Run(what, inSets("a b", func(t *testing.T, f fleets) {
			s := f.open(t, redlock.Config{}, "a", "b")
			use(t, s, "n")
			for id, fleet := range f {
				each(fleet, 0, 3, func(m *redlocktest.Master) {
					if m.Delay(2 * time.Millisecond); taken && id == "b" {
						m.HSet("n", another, "1")
					}
				})
			}
			time.Sleep(time.Minute) // the client knows how long a round trip takes
			before := scripts(f["a"], f["b"])
			ctx := within(t, t.Context(), time.Second)
			expect(t, "Lock", second(s.Lock(ctx, "n", redlock.Lease(7*time.Millisecond))), context.DeadlineExceeded)
			check.AtMost(t, scripts(f["a"], f["b"])-before, 400, "script calls in a second")
		}))
	}
}
