package redlock_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// The times of a client with the default Config.
const (
	lease       = 30 * time.Second
	validity    = lease - lease/100 - 2*time.Millisecond
	renewEvery  = lease / 3
	nodeTimeout = 500 * time.Millisecond

	// settle is enough for a client to notice that a master is back, and to send its releases.
	settle = 2 * time.Second
)

// bubble is a parallel test in a synctest bubble, with n masters and a client of them.
func bubble(n int, f func(*testing.T, *redlocktest.Fleet, *redlock.Client)) func(*testing.T) {
	return masters(n, func(t *testing.T, fleet *redlocktest.Fleet) { f(t, fleet, open(t, fleet, redlock.Config{})) })
}

// masters is bubble without a client.
func masters(n int, f func(*testing.T, *redlocktest.Fleet)) func(*testing.T) {
	return inTime(func(t *testing.T) { f(t, redlocktest.Start(t, n)) })
}

// inSets is masters for several sets, by their IDs.
func inSets(ids string, f func(*testing.T, fleets)) func(*testing.T) {
	return inTime(func(t *testing.T) { f(t, startFleets(t, strings.Fields(ids)...)) })
}

// inTime is a parallel test in a bubble.
func inTime(f func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			endless(t)
			f(t)
		})
	}
}

// endless ends a test that waits forever: as long as clients renew and ask, its bubble sees no deadlock.
func endless(t *testing.T) {
	t.Helper()
	const most = 2 * time.Hour
	limit := time.AfterFunc(most, func() {
		stacks := make([]byte, 1<<20)
		panic(fmt.Sprintf("%s has not ended after %v of its time:\n%s", t.Name(), most, stacks[:runtime.Stack(stacks, true)]))
	})
	t.Cleanup(func() { limit.Stop() })
}

// open makes a client that is connected, and closed with the test. By default it has no restart guard.
func open(t *testing.T, fleet *redlocktest.Fleet, cfg redlock.Config) *redlock.Client {
	t.Helper()
	if cfg.Pools == nil && cfg.Masters == nil {
		cfg.Pools = fleet.Pools()
	}
	if cfg.RestartGuard == 0 {
		cfg.RestartGuard = redlock.GuardOff
	}
	c, err := redlock.New(cfg)
	check.OK(t, err, "New")
	t.Cleanup(func() { c.Close() })
	synctest.Wait()
	return c
}

// seize gives "a" to another owner on some masters, as if they had forgotten the one before.
func seize(fleet *redlocktest.Fleet, from, to int) {
	each(fleet, from, to, func(m *redlocktest.Master) {
		m.Del("a")
		m.HSet("a", another, "1")
		m.Expire("a", time.Minute)
	})
}

// dialing returns a pool whose connections dial makes.
func dialing(dial func(context.Context) (net.Conn, error)) *redis.Pool {
	return &redis.Pool{MaxIdle: 8, DialContext: func(ctx context.Context) (redis.Conn, error) {
		conn, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return redis.NewConn(conn, 0, 0), nil
	}}
}

// forge publishes terms of a client x at master i, for life.
func forge(t *testing.T, fleet *redlocktest.Fleet, i int, life time.Duration, terms string) {
	t.Helper()
	conn := fleet.Pools()[i].Get()
	defer conn.Close()
	words := script.PublishTerms("x", new(script.Terms).Text(), life, time.Time{}, false).Words(nil, false)
	words[len(words)-3] = terms
	check.OK(t, second(conn.Do(words[0].(string), words[1:]...)), "forging %s", terms)
}

// published returns the terms that were published last at m.
func published(m *redlocktest.Master) string {
	lines := strings.Split(strings.TrimSpace(m.Get("redlock_sets")), "\n")
	return lines[len(lines)-1]
}

// lock is a Lock that must succeed. The Hold does not leak before the test ends.
func lock(t *testing.T, ctx context.Context, c *redlock.Client, name string, options ...redlock.Option) *redlock.Hold {
	t.Helper()
	hold, err := c.Lock(ctx, name, options...)
	check.OK(t, err, "Lock(%q)", name)
	t.Cleanup(func() { runtime.KeepAlive(hold) })
	return hold
}

// acquire is a Lock of a permit that must succeed. All masters have answered when it returns.
func acquire(t *testing.T, c *redlock.Client, name string, permits int) *redlock.Hold {
	t.Helper()
	hold := lock(t, t.Context(), c, name, redlock.Permits(permits))
	synctest.Wait()
	return hold
}

// within is a context that ends with ctx, and after d at the latest.
func within(t *testing.T, ctx context.Context, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, d)
	t.Cleanup(cancel)
	return ctx
}

// ended is a context that has ended.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// unlock is an Unlock that must succeed.
func unlock(t *testing.T, hold *redlock.Hold) {
	t.Helper()
	check.OK(t, hold.Unlock(context.Background()), "Unlock")
}

var expect, expectNot = check.Err, check.NotErr

// must returns what a call returned, which must not fail.
func must[T any](result T, err error) func(t *testing.T, call string) T {
	return func(t *testing.T, call string) T {
		t.Helper()
		check.OK(t, err, "%s", call)
		return result
	}
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }

// expectFree checks that no master has anything of name but fencing counters, and marks of a force unlock.
func expectFree(t *testing.T, fleet *redlocktest.Fleet, name string) {
	t.Helper()
	synctest.Wait() // an Unlock returns with the majority
	for _, m := range fleet.Masters() {
		for _, key := range keys(m) {
			kind, of, _ := strings.Cut(key, ":{")
			if !slices.Contains([]string{"redlock_fence", "redlock_forced"}, kind) && (key == name || strings.HasPrefix(of, name+"}")) {
				t.Errorf("%s has %s: %v %v", m.Name(), key, m.Hash(key), m.ZSet(key))
			}
		}
	}
}

// expectCount checks the hold count by hold, and by all masters.
func expectCount(t *testing.T, fleet *redlocktest.Fleet, hold *redlock.Hold, masters string, count int) {
	t.Helper()
	synctest.Wait() // a Lock returns with the majority
	check.Equal(t, hold.Count(), count, "Count")
	for _, m := range fleet.Masters() {
		check.Equal(t, m.HGet(hold.Name(), hold.Owner()), masters, "hold count on %s", m.Name())
	}
}

// expectAlive checks that the context of hold has not ended.
func expectAlive(t *testing.T, hold *redlock.Hold) {
	t.Helper()
	expect(t, fmt.Sprintf("Cause of the end of %q", hold.Name()), context.Cause(hold.Context()))
}

// expectEnd waits for the end of hold's context, and checks the age of the hold by then, and the cause.
func expectEnd(t *testing.T, hold *redlock.Hold, start time.Time, age time.Duration, cause error) {
	t.Helper()
	<-hold.Context().Done()
	check.Equal(t, time.Since(start), age, "the context ended after")
	expect(t, "Cause", context.Cause(hold.Context()), cause)
}

// scripts is how many scripts the masters have run.
func scripts(fleets ...*redlocktest.Fleet) (calls int64) {
	for _, fleet := range fleets {
		for _, m := range fleet.Masters() {
			calls += m.Calls("EVALSHA") // EVAL is of what clients say of themselves as well
		}
	}
	return calls
}

// expectQuiet checks that no script runs for ten leases: nothing renews, releases or tries.
func expectQuiet(t *testing.T, fleets ...*redlocktest.Fleet) {
	t.Helper()
	before := scripts(fleets...)
	time.Sleep(10 * lease)
	check.Equal(t, scripts(fleets...)-before, 0, "scripts that the masters ran in ten leases that should be quiet")
}

// each does f to the masters from up to, but not including, to.
func each(fleet *redlocktest.Fleet, from, to int, f func(*redlocktest.Master)) {
	for _, m := range fleet.Masters()[from:to] {
		f(m)
	}
}

// keys are the keys of a master but for the records and terms of clients.
func keys(m *redlocktest.Master) []string {
	return slices.DeleteFunc(m.Keys(), func(key string) bool {
		return strings.HasPrefix(key, "redlock_sets") || strings.HasPrefix(key, "redlock_client:")
	})
}

// Owners of other clients, as their masters name them.
const (
	someone = "4a1f2b3c-0000-4000-8000-000000000001:7"  // one of Redisson's
	another = "4a1f2b3c-0000-4000-8000-000000000002:r1" // one of ours
)

// Tests outside synctest bubbles leave no goroutine behind; a bubble checks that itself.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // it would bury the lines of a test that fails
	goleak.VerifyTestMain(m)
}
