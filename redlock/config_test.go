package redlock_test

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// refusedConfigs are those that New refuses. What it says is in testdata/texts.txt.
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
	{"credentials twice", redlock.Config{Masters: []string{"a", "me:secret@b"}, Credentials: func(context.Context, string) (string, string, error) { return "", "", nil }}},
	{"one socket in two spellings", redlock.Config{Masters: []string{"/run/redis.sock", "unix:///run/redis.sock?db=1"}}},
	{"masters in one string", redlock.Config{Masters: []string{"a:1,b:2,c:3"}}},
}

func TestConfigRefuses(t *testing.T) {
	for _, tt := range refusedConfigs {
		t.Run(tt.name, func(t *testing.T) {
			if c, err := redlock.New(tt.cfg); err == nil {
				c.Close()
				t.Error("New = nil, want an error")
			}
		})
	}
}

// What is just enough is accepted.
func TestConfigAccepts(t *testing.T) {
	for name, cfg := range map[string]redlock.Config{
		"the shortest MaxLease":     {MaxLease: lease},
		"the shortest MaxHold":      {MaxHold: lease},
		"the shortest RestartGuard": {MaxLease: time.Minute, RestartGuard: time.Minute},
		"the shortest NodeTimeout":  {NodeTimeout: time.Millisecond},
		"the longest NodeTimeout":   {NodeTimeout: lease - 1},
		"the shortest lease":        {Lease: 3 * time.Millisecond},
		"a lease of broken ms":      {Lease: time.Second + 1, MaxHold: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg.Pools = redlocktest.Start(t, 1).Pools()
				c, err := redlock.New(cfg)
				if err != nil {
					t.Fatalf("New = %v, want nil", err)
				}
				expect(t, "Close", c.Close())
			})
		})
	}
}

func TestConfigErrorsKeepPasswords(t *testing.T) {
	for _, address := range []string{
		"redis://:s3cret@a:b",
		"redis://u:s3cret@a b",
		"redis://u:s3cret@a,b",
		"redis://u:s3cret@a:0",
		"redis://u:s3cret@::1",
		"redis://u:s3cret@a?password=s3cret",
		"redis://u:s3cret@",
		"redis://u:s3cret@[::1",
		"redis://u:s3cret%zz@a",
		"http://u:s3cret@a",
	} {
		t.Run(address, func(t *testing.T) {
			c, err := redlock.New(redlock.Config{Masters: []string{address}})
			if err == nil {
				c.Close()
				t.Fatal("New = nil, want an error")
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("New = %q: the password is in it", err)
			}
		})
	}
}

// Over TCP, since only URLs carry passwords. The right one works, and the wrong one is
// in no error.
func TestPassword(t *testing.T) {
	fleet := redlocktest.New(1)
	defer fleet.Close()
	fleet.Master(0).Password("right")
	host := strings.TrimPrefix(fleet.URLs()[0], "redis://")

	for password, want := range map[string]error{"right": nil, "wr0ng": redlock.ErrNoQuorum} {
		c, err := redlock.New(redlock.Config{Masters: []string{"redis://:" + password + "@" + host}, RestartGuard: -1})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.TryLock(t.Context(), "a")
		if !errors.Is(err, want) {
			t.Errorf("TryLock with password %q = %v, want %v", password, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), host)) {
			t.Errorf("TryLock = %q, want the address in it, and no password", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	}
}

// Two ways to one server are one vote, or a minority could grant a lock.
func TestOneServerHasOneVote(t *testing.T) {
	bubble(t, 2, func(t *testing.T, fleet *redlocktest.Fleet, _ *redlock.Client) {
		pools := append(fleet.Pools(), fleet.Pools()[0])
		c := open(t, fleet, redlock.Config{Pools: pools})
		unlock(t, lock(t, t.Context(), c, "a"))

		fleet.Master(1).Kill()
		_, err := c.TryLock(t.Context(), "a")
		expect(t, "TryLock", err, redlock.ErrNoQuorum)
		if err == nil || !strings.Contains(err.Error(), "is the same server as") {
			t.Errorf("TryLock = %v, want to be told of the same server", err)
		}
	})
}

func TestDefaults(t *testing.T) {
	defaults := func(t *testing.T) (*redlocktest.Fleet, *redlock.Client) {
		fleet := redlocktest.Start(t, 3)
		c, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return fleet, c
	}
	for name, check := range map[string]func(*testing.T){
		"Lease is 30s": func(t *testing.T) {
			_, c := defaults(t)
			if got := lock(t, t.Context(), c, "a").Remaining(); got != validity {
				t.Errorf("Remaining = %v, want %v", got, validity)
			}
		},
		"MaxLease is Lease": func(t *testing.T) {
			_, c := defaults(t)
			_, err := c.LockFor(t.Context(), "a", lease+time.Millisecond)
			if err == nil || !strings.Contains(err.Error(), "MaxLease") {
				t.Errorf("LockFor = %v, want an error of MaxLease", err)
			}
		},
		"NodeTimeout is 500ms": func(t *testing.T) {
			fleet, c := defaults(t)
			synctest.Wait()
			each(fleet, 0, 2, (*redlocktest.Master).Freeze)
			start := time.Now()
			_, err := c.TryLock(t.Context(), "a")
			expect(t, "TryLock", err, redlock.ErrNoQuorum)
			if got := time.Since(start); got != nodeTimeout {
				t.Errorf("TryLock took %v, want %v", got, nodeTimeout)
			}
		},
		"RestartGuard is MaxLease": func(t *testing.T) {
			fleet, c := defaults(t)
			each(fleet, 0, 3, (*redlocktest.Master).Restart)
			start := time.Now()
			lock(t, t.Context(), c, "a")
			if got := time.Since(start); got < lease || got > lease+lease/100+settle {
				t.Errorf("masters that restarted granted after %v, want about %v", got, lease)
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, check) })
	}
}

// Bad arguments are refused at once, and the masters hear nothing of them.
func TestArgumentsAreChecked(t *testing.T) {
	bubble(t, 3, func(t *testing.T, fleet *redlocktest.Fleet, c *redlock.Client) {
		ctx := t.Context()
		long := strings.Repeat("x", 1024)
		nothing := func(context.Context) error { return nil }
		before := scripts(fleet)
		for call, err := range map[string]error{
			"Lock of no name":         second(c.Lock(ctx, "")),
			"TryLock of no name":      second(c.TryLock(ctx, "")),
			"LockFor of no name":      second(c.LockFor(ctx, "", time.Second)),
			"TryLockFor of no name":   second(c.TryLockFor(ctx, "", time.Second)),
			"Do of no name":           c.Do(ctx, "", nothing),
			"Inspect of no name":      second(c.Inspect(ctx, "")),
			"ForceUnlock of no name":  second(c.ForceUnlock(ctx, "")),
			"Lock of a long name":     second(c.Lock(ctx, long+"x")),
			"Inspect of a long name":  second(c.Inspect(ctx, long+"x")),
			"Lock of a counter's key": second(c.Lock(ctx, "redlock_fence:{a}")),
			"Lock of a queue's key":   second(c.Lock(ctx, "redlock_wait:{a}")),
			"Lock of a turn's key":    second(c.Lock(ctx, "redlock_turn:{a}")),
			"Lock of a force's key":   second(c.Lock(ctx, "redlock_forced:{a}")),
			"Lock of slots' key":      second(c.Lock(ctx, "redlock_slots:{a}")),
			"Lock of slots' counters": second(c.Lock(ctx, "redlock_slotfence:{a}")),
			"Lock of slots' queue":    second(c.Lock(ctx, "redlock_slotwait:{a}")),
			"LockFor under 1ms":       second(c.LockFor(ctx, "a", 999*time.Microsecond)),
			"LockFor under the drift": second(c.LockFor(ctx, "a", 2*time.Millisecond)),
			"LockFor of less than 0":  second(c.LockFor(ctx, "a", -time.Second)),
		} {
			if err == nil {
				t.Errorf("%s = nil, want an error", call)
			}
		}
		const over = "redlock: lease 30.001s is longer than Config.MaxLease 30s"
		for call, err := range map[string]error{
			"LockFor":    second(c.LockFor(ctx, "a", lease+time.Millisecond)),
			"TryLockFor": second(c.TryLockFor(ctx, "a", lease+time.Millisecond)),
		} {
			if err == nil || !strings.HasPrefix(err.Error(), over) {
				t.Errorf("%s = %v, want %q", call, err, over)
			}
		}
		const short = "redlock: lease 1µs is too short"
		if _, err := c.LockFor(ctx, "a", time.Microsecond); err == nil || !strings.HasPrefix(err.Error(), short) {
			t.Errorf("LockFor = %v, want %q", err, short)
		}
		if n := scripts(fleet) - before; n != 0 {
			t.Errorf("the masters ran %d scripts for bad arguments", n)
		}
		const own = `redlock: the name of a lock begins with "redlock_fence:"`
		if _, err := c.Inspect(ctx, "redlock_fence:a"); err == nil || !strings.HasPrefix(err.Error(), own) {
			t.Errorf("Inspect = %v, want %q", err, own)
		}
		unlock(t, lock(t, ctx, c, long))
		unlock(t, lock(t, ctx, c, "my:redlock_fence:{a}"))
	})
}

// second returns the error of a call with two results.
func second[T any](_ T, err error) error { return err }
