package redlock_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// refusedConfigs are those that New refuses: TestTexts sees what it says.
var refusedConfigs = []struct {
	name string
	cfg  redlock.Config
}{
	{"no masters", redlock.Config{}},
	{"masters and pools", redlock.Config{Masters: []string{"m1"}, Pools: []*redis.Pool{{}}}},
	{"too many masters", redlock.Config{Masters: make([]string, 65)}},
	{"nil pool", redlock.Config{Pools: []*redis.Pool{{}, nil}}},
	{"one address twice", redlock.Config{Masters: []string{"a:6379", "b:6379", "a:6379"}}},
	{"one address in two spellings", redlock.Config{Masters: []string{"a", "redis://:pw@a:6379/1"}}},
	{"one pool twice", redlock.Config{Pools: slices.Repeat([]*redis.Pool{{}}, 2)}},
	{"lease under 1ms", redlock.Config{Masters: []string{"m1"}, Lease: 999 * time.Microsecond}},
	{"lease of a number without a unit", redlock.Config{Masters: []string{"m1"}, Lease: 30}},
	{"lease under 0 by 1ns", redlock.Config{Masters: []string{"m1"}, Lease: -1}},
	{"NodeTimeout of a lease of broken ms", redlock.Config{Masters: []string{"m1"}, Lease: time.Second + 1, NodeTimeout: time.Second}},
	{"lease under the drift", redlock.Config{Masters: []string{"m1"}, Lease: 2 * time.Millisecond}},
	{"negative lease", redlock.Config{Masters: []string{"m1"}, Lease: -time.Second}},
	{"lease over MaxLease", redlock.Config{Masters: []string{"m1"}, Lease: time.Minute, MaxLease: time.Second}},
	{"default lease over MaxLease", redlock.Config{Masters: []string{"m1"}, MaxLease: 10 * time.Second}},
	{"negative MaxLease", redlock.Config{Masters: []string{"m1"}, MaxLease: -1}},
	{"guard under MaxLease", redlock.Config{Masters: []string{"m1"}, MaxLease: time.Minute, RestartGuard: time.Minute - 1}},
	{"guard without end", redlock.Config{Masters: []string{"m1"}, RestartGuard: math.MaxInt64}},
	{"leases without end", redlock.Config{Masters: []string{"m1"}, MaxLease: math.MaxInt64}},
	{"guard under the default MaxLease", redlock.Config{Masters: []string{"m1"}, RestartGuard: 10 * time.Second}},
	{"negative NodeTimeout", redlock.Config{Masters: []string{"m1"}, NodeTimeout: -1}},
	{"NodeTimeout under 1ms", redlock.Config{Masters: []string{"m1"}, NodeTimeout: time.Millisecond - 1}},
	{"NodeTimeout of a lease", redlock.Config{Masters: []string{"m1"}, NodeTimeout: 30 * time.Second}},
	{"negative MaxHold", redlock.Config{Masters: []string{"m1"}, MaxHold: -1}},
	{"MaxHold under the lease", redlock.Config{Masters: []string{"m1"}, Lease: time.Minute, MaxLease: time.Hour, MaxHold: time.Minute - 1}},
	{"empty address", redlock.Config{Masters: []string{"a", ""}}},
	{"another scheme", redlock.Config{Masters: []string{"http://a"}}},
	{"bad port", redlock.Config{Masters: []string{"a:b"}}},
	{"port 0", redlock.Config{Masters: []string{"a:1", "b:0"}}},
	{"TLS for nobody", redlock.Config{Masters: []string{"m1"}, TLS: &tls.Config{}}},
	{"TLS for pools", redlock.Config{Pools: []*redis.Pool{{}}, TLS: &tls.Config{}}},
	{"credentials for pools", redlock.Config{Pools: []*redis.Pool{{}}, Credentials: func(context.Context, string) (string, string, error) { return "", "", nil }}},
	{"a way to dial for pools", redlock.Config{Pools: []*redis.Pool{{}}, Dial: new(net.Dialer).DialContext}},
	{"one socket in two spellings", redlock.Config{Masters: []string{"/run/redis.sock", "unix:///run/redis.sock?db=1"}}},
	{"prefix without room for a name", redlock.Config{Masters: []string{"m1"}, Prefix: strings.Repeat("x", 1024)}},
	{"prefix of the library's keys", redlock.Config{Masters: []string{"m1"}, Prefix: "redlock_sets"}},
	{"prefix that could become one", redlock.Config{Masters: []string{"m1"}, Prefix: "redlock_"}},
	{"masters in one string", redlock.Config{Masters: []string{"a:1,b:2,c:3"}}},
}

// A client that is closed leaves the caller's pools open.
func TestPools(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		pools := fleet.Pools()
		c := open(t, fleet, redlock.Config{Pools: pools})
		unlock(t, lock(t, t.Context(), c, "a"))
		expect(t, "Close", c.Close())
		conn := pools[0].Get()
		defer conn.Close()
		expect(t, "PING by a pool of a client that is closed", second(conn.Do("PING")))
		check.Equal(t, pools[0].ActiveCount()-pools[0].IdleCount(), 1, "connections of the pool that are in use, by the PING")
	})(t)
}

// TestASecondCloseDoesNothing: a second Close does not keep the first, which is not over, from connecting again to give
// back the holds.
func TestASecondCloseDoesNothing(t *testing.T) {
	masters(3, func(t *testing.T, fleet *redlocktest.Fleet) {
		c := open(t, fleet, redlock.Config{
			Masters: []string{"m-0", "m-1", "m-2"},
			Dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				return fleet.Master(int(address[2] - '0')).Dial(ctx)
			},
		})
		lock(t, t.Context(), c, "a")
		each(fleet, 0, 3, (*redlocktest.Master).Freeze)
		go c.TryLock(t.Context(), "b") // which the first waits for
		synctest.Wait()
		first := make(chan error, 1)
		go func() { first <- c.Close() }()
		synctest.Wait()
		check.OK(t, c.Close(), "the second Close")
		fleet.Master(0).Thaw()
		fleet.Master(0).KillClients()
		expect(t, "the first Close", <-first, redlock.ErrNoQuorum)
		check.Equal(t, fleet.Master(0).Holder("a"), "", "the holder at a master to which the client had to connect again")
	})(t)
}

// Defaults follow from the fields that are set, and the smallest values that work are accepted.
func TestDefaults(t *testing.T) {
	const hour, ms = time.Hour, time.Millisecond
	for _, tt := range []struct {
		cfg                           redlock.Config
		lease, longest, guard, answer time.Duration
	}{
		{redlock.Config{}, lease, lease, lease, nodeTimeout},
		{redlock.Config{Lease: time.Second}, time.Second, time.Second, lease, 100 * ms},
		{redlock.Config{Lease: 3 * ms}, 3 * ms, 3 * ms, lease, ms},
		{redlock.Config{Lease: time.Second + 1, MaxHold: time.Second}, time.Second, time.Second + 1, lease, 100 * ms},
		{redlock.Config{MaxLease: lease, MaxHold: lease}, lease, lease, lease, nodeTimeout},
		{redlock.Config{MaxLease: hour, RestartGuard: hour}, lease, hour, hour, nodeTimeout},
		{redlock.Config{MaxLease: hour, RestartGuard: 2 * hour}, lease, hour, 2 * hour, nodeTimeout},
		{redlock.Config{RestartGuard: redlock.GuardOff, NodeTimeout: ms}, lease, lease, -1, ms},
		{redlock.Config{NodeTimeout: lease - 1}, lease, lease, lease, lease - 1},
		{redlock.Config{Prefix: strings.Repeat("x", 1023)}, lease, lease, lease, nodeTimeout},
	} {
		cfg := tt.cfg
		cfg.Masters = []string{"m1"}
		got, err := cfg.WithDefaults()
		if err != nil || got.Lease != tt.lease || got.MaxLease != tt.longest || got.RestartGuard != tt.guard || got.NodeTimeout != tt.answer {
			t.Errorf("%+v becomes %+v (%v), want Lease %v, MaxLease %v, RestartGuard %v, NodeTimeout %v",
				cfg, got, err, tt.lease, tt.longest, tt.guard, tt.answer)
		}
	}
}

// Bad arguments are refused before the masters are asked.
func TestArgumentsAreChecked(t *testing.T) {
	bubble(3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx, long := t.Context(), strings.Repeat("x", 1024)
		before := scripts(fleet)
		bad := map[string]string{"": "the name of a lock is empty", long + "x": "the name of a lock has 1025 bytes, more than 1024"}
		for _, own := range []string{"fence", "wait", "turn", "forced", "read", "slot", "client"} {
			bad["redlock_"+own+":{a}"] = fmt.Sprintf("the name of a lock begins with %q", "redlock_"+own+":")
		}
		nothing := func(context.Context) error { return nil }
		for name, why := range bad {
			for call, err := range map[string]error{
				"Lock": second(c.Lock(ctx, name)), "TryLock": second(c.TryLock(ctx, name)), "RLock": second(c.Lock(ctx, name, redlock.Shared())),
				"LockFor": second(c.Lock(ctx, name, redlock.Lease(time.Second))), "Do": c.Do(ctx, name, nothing),
				"Permits": second(c.Lock(ctx, name, redlock.Permits(1))), "Do of Permits": c.Do(ctx, name, nothing, redlock.Permits(1)),
				"LockAll": second(c.LockAll(ctx, []string{"a", name})), "TryLockAll": second(c.TryLockAll(ctx, []string{name})),
				"Lead":    c.Lead(ctx, name, nothing),
				"Inspect": second(redlockadmin.Of(c).Inspect(ctx, name)), "InspectSemaphore": second(redlockadmin.Of(c).InspectSemaphore(ctx, name)),
				"ForceUnlock": second(redlockadmin.Of(c).ForceUnlock(ctx, name)), "ForceRelease": second(redlockadmin.Of(c).ForceRelease(ctx, name)),
			} {
				check.Says(t, err, "redlock: "+why, "%s of %.20q", call, name)
			}
		}
		for permits, why := range map[int]string{0: "0 permits of", -1: "-1 permits of", 1001: "1001 permits of"} {
			check.Says(t, second(c.Lock(ctx, "a", redlock.Permits(permits))), why, "Acquire")
			check.Says(t, c.Do(ctx, "a", nothing, redlock.Permits(permits)), why, "Do")
		}
		for d, why := range map[time.Duration]string{
			lease + time.Millisecond: "redlock: lease 30.001s is longer than Config.MaxLease 30s, so a master that restarts would not wait for it: set Config.MaxLease here, and Config.RestartGuard of each client of these masters, to 30.001s or more",
			time.Microsecond:         "redlock: lease 1µs is too short",
		} {
			check.Says(t, second(c.Lock(ctx, "a", redlock.Lease(d))), why, "LockFor")
		}
		check.Equal(t, scripts(fleet)-before, 0, "scripts that the masters ran for bad arguments")
		unlock(t, lock(t, ctx, c, long))
		unlock(t, lock(t, ctx, c, "my:redlock_fence:{a}"))
		unlock(t, acquire(t, c, "a", 1000))

		// The prefix counts towards the length of a name.
		c = open(t, fleet, redlock.Config{Prefix: "orders:"})
		unlock(t, lock(t, ctx, c, long[:1017]))
		for name, why := range map[string]string{
			"": "the name of a lock is empty", long[:1018]: "the name of a lock has 1018 bytes, 1025 with its prefix, more than 1024",
			"redlock_slot:{a}:1": `the name of a lock begins with "redlock_slot:"`,
		} {
			check.Says(t, second(c.Lock(ctx, name)), "redlock: "+why, "Lock")
		}
	})(t)
}

// TestConfigurationPage: docs/configuration.md has each field of Config, and nothing else, with the default that New
// uses.
func TestConfigurationPage(t *testing.T) {
	table, _, _ := strings.Cut(check.File(t, "../docs/configuration.md"), "\n## ")
	defaults := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\|").FindAllStringSubmatch(table, -1) {
		defaults[row[1]] = row[2]
	}
	cfg, err := redlock.Config{Masters: []string{"m1"}}.WithDefaults()
	check.OK(t, err)
	short, err := redlock.Config{Masters: []string{"m1"}, Lease: time.Second}.WithDefaults()
	check.OK(t, err)
	long, err := redlock.Config{Masters: []string{"m1"}, Lease: time.Hour}.WithDefaults()
	check.OK(t, err)
	says := func(field string, is bool, want string) {
		check.That(t, is && defaults[field] == want, "the default of %s is %q on the page, want %q; New uses %+v", field, defaults[field], want, cfg)
	}
	says("Lease", true, strings.Replace(cfg.Lease.String(), "s", " s", 1))
	says("MaxLease", cfg.MaxLease == cfg.Lease, "`Lease`")
	says("RestartGuard", short.RestartGuard == 30*time.Second && long.RestartGuard == long.MaxLease, "`MaxLease`, at least 30 s")
	says("NodeTimeout", short.NodeTimeout == short.Lease/10 && cfg.NodeTimeout == 500*time.Millisecond, "a tenth of `Lease`, at most 500 ms")
	says("MaxHold", cfg.MaxHold == 0, "no bound")
	says("Keep", cfg.Keep == 0, "0")
	says("NoRecord", !cfg.NoRecord, "false")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[redlock.Config]()) {
		_, ok := defaults[field.Name]
		check.That(t, ok, "docs/configuration.md does not have %s", field.Name)
		delete(defaults, field.Name)
	}
	for name := range defaults {
		t.Errorf("docs/configuration.md has %s, which is no field of Config", name)
	}
}

// TestErrorsPage: docs/guide.md has a row for each error that errors.Is finds.
func TestErrorsPage(t *testing.T) {
	_, table, _ := strings.Cut(check.File(t, "../docs/guide.md"), "\n## Errors\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(Err\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		rows = append(rows, row[1])
	}
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	check.OK(t, err)
	errs := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Err") {
			errs[spec.Names[0].Name] = true
		}
		return true
	})
	want := slices.Sorted(maps.Keys(errs))
	check.That(t, slices.Equal(slices.Sorted(slices.Values(rows)), want) && len(want) >= 10, "docs/guide.md has a row for each of %q, want %q", rows, want)
}
