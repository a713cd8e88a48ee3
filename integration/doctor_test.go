package integration

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// doctor runs redlock doctor on masters, and returns what it prints with each run of spaces as one, and
// its exit code.
func doctor(ctx context.Context, t *testing.T, urls []string, args ...string) (screen string, code int) {
	t.Helper()
	args = append([]string{"doctor", "--masters", strings.Join(urls, ","), "--no-restart-guard"}, args...)
	command := exec.CommandContext(ctx, builtCommand(t), args...)
	var complaint strings.Builder
	command.Stderr = &complaint
	out, err := command.Output()
	if command.ProcessState == nil || complaint.Len() > 0 {
		t.Fatalf("redlock %q: %v: %s", args, err, &complaint)
	}
	t.Logf("redlock doctor: exit code %d\n%s", command.ProcessState.ExitCode(), out)
	return strings.Join(strings.Fields(string(out)), " "), command.ProcessState.ExitCode()
}

// config sets a setting until the end of the test.
func (m *master) config(t *testing.T, name string, value any) {
	t.Helper()
	before, err := redis.Strings(m.do(t, "CONFIG", "GET", name), nil)
	if err != nil || len(before) != 2 {
		t.Fatalf("%s: CONFIG GET %s = %v, %v", m.name, name, before, err)
	}
	m.do(t, "CONFIG", "SET", name, value)
	t.Cleanup(func() { m.do(t, "CONFIG", "SET", name, before[1]) })
}

// fault is something that is wrong with a fleet, and what doctor prints of it: the finding with its ID,
// and a part of its verdict. ADDR stands for the address of the master that has it.
type fault struct {
	name  string
	plant func(ctx context.Context, t *testing.T, f *fleet, urls []string) []string // returns the masters to examine
	says  []string
	code  int
}

// On the second master, unless it says otherwise.
var faults = []fault{
	{
		"a dead master", func(ctx context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].kill(ctx, t)
			t.Cleanup(func() { f.masters[1].start(ctx, t) })
			return urls
		},
		[]string{"warning reachable ADDR: connect: connection refused -> start it"},
		0,
	},
	{
		"a frozen master", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].pause(t)
			t.Cleanup(func() { f.masters[1].unpause(t) })
			return urls
		},
		[]string{"warning reachable ADDR: no answer in time -> see whether it hangs"},
		0,
	},
	{
		"TLS on a plain port", func(_ context.Context, _ *testing.T, _ *fleet, urls []string) []string {
			urls[1] = strings.Replace(urls[1], "redis://", "rediss://", 1)
			return urls
		},
		[]string{"warning tls ADDR: no answer in time to the TLS handshake (a plain port needs redis://) -> use redis:// without TLS"},
		0,
	},
	{
		"no TLS on a TLS port", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			urls[1] = "redis://" + tlsPort(t, f.masters[1].direct)
			return urls
		},
		[]string{"warning tls 127.0.0.1:", "(a TLS port needs rediss://) -> use redis:// without TLS, rediss:// with it"},
		0,
	},
	{
		"a wrong password", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].paste(t, documented(t))
			urls[1] = "redis://locks:wrong@" + f.masters[1].addr
			return urls
		},
		[]string{"warning login ADDR: WRONGPASS", "-> correct the user or the password"},
		0,
	},
	{
		"a command that the user may not use", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].do(t, "ACL", documentedRule(t, "-zpopmin")...)
			urls[1] = "redis://locks:password@" + f.masters[1].addr
			return urls
		},
		[]string{"ERROR permissions ADDR: the user lacks +zpopmin: no lock can be had there"},
		1,
	},
	{
		"keys and a channel that the user may not use", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			rule := slices.DeleteFunc(documentedRule(t), func(word any) bool {
				return slices.Contains([]any{"~redlock_wait:{orders:*", "~redlock_forced:{orders:*", "&redlock_wake:*"}, word)
			})
			f.masters[1].do(t, "ACL", rule...)
			urls[1] = "redis://locks:password@" + f.masters[1].addr
			return urls
		},
		[]string{"ERROR permissions ADDR: the user lacks &redlock_wake:* ~redlock_forced:{orders:* ~redlock_wait:{orders:*: no lock", "ACL SETUSER … &redlock_wake:* ~redlock_forced:{orders:* ~redlock_wait:{orders:*"},
		1,
	},
	{ // no fault
		"the user of the docs", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			for i, m := range f.masters {
				m.do(t, "ACL", documentedRule(t)...)
				urls[i] = "redis://locks:password@" + m.addr
			}
			return urls
		},
		[]string{"ok permissions the user may use every command, key and channel", "note unseen each master: CONFIG GET, ACL GETUSER, SLOWLOG, SCAN refused"},
		0,
	},
	{
		"the same server twice", func(_ context.Context, _ *testing.T, f *fleet, urls []string) []string {
			_, port, _ := strings.Cut(f.masters[0].addr, ":")
			urls[1] = "redis://localhost:" + port
			return urls
		},
		[]string{"warning same-server localhost:", "is the same server as 127.0.0.1:"},
		0,
	},
	{
		"allkeys-lru, and next to no memory left", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			m := f.masters[1]
			for line := range strings.Lines(string(m.do(t, "INFO", "memory").([]byte))) {
				if used, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
					n, err := strconv.ParseInt(used, 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					m.config(t, "maxmemory", n+n/20)
				}
			}
			m.config(t, "maxmemory-policy", "allkeys-lru")
			t.Cleanup(func() { m.do(t, "CONFIG", "RESETSTAT") })
			return urls
		},
		[]string{"ERROR eviction-policy ADDR: maxmemory-policy is allkeys-lru, and 9", "-> CONFIG SET maxmemory-policy noeviction", "warning memory ADDR: 9"},
		1,
	},
	{
		"no guard without appendfsync always", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].config(t, "appendfsync", "everysec")
			return urls
		},
		[]string{"ERROR restart-guard ADDR: the restart guard is off, but with appendfsync everysec a restart forgets locks"},
		1,
	},
	{
		"a slow link", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			slow := newWire(t, f.masters[1].direct)
			slow.Slow(300*time.Millisecond, 0)
			urls[1] = "redis://" + slow.Addr()
			return urls
		},
		[]string{"warning round-trip 127.0.0.1:", "and NodeTimeout is 500ms: clients take the master for dead -> use a NodeTimeout of 2."},
		0,
	},
	{
		"clients that lock with another library", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].do(t, "SET", "orders:7", "3q2+7w8VbHYx1QmJ0o5vLA==", "PX", 60_000, "NX")
			t.Cleanup(func() { f.masters[1].do(t, "DEL", "orders:7") })
			return urls
		},
		[]string{`warning foreign-locks ADDR: 1 of`, `(redsync, bsm/redislock): "orders:7"`},
		0,
	},
	{
		"a timeout that closes idle connections", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].config(t, "timeout", 10)
			return urls
		},
		[]string{"warning idle-timeout ADDR: timeout is 10 s"},
		0,
	},
	{
		"a master that needs replicas", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].config(t, "min-replicas-to-write", 1)
			return urls
		},
		[]string{"warning min-replicas ADDR: min-replicas-to-write is 1", "warning trial ADDR: to acquire fails on a scratch name: NOREPLICAS"},
		0,
	},
	{
		"too few masters", func(ctx context.Context, t *testing.T, f *fleet, urls []string) []string {
			for _, m := range f.masters[1:4] {
				m.kill(ctx, t)
				t.Cleanup(func() { m.start(ctx, t) })
			}
			return urls
		},
		[]string{"ERROR quorum 2 of 5 masters can grant a lock, and 3 are needed: nobody gets one", "Unknown: 2 of 5 masters answered"},
		69,
	},
	{
		"clocks an hour ahead and too fast", func(ctx context.Context, t *testing.T, _ *fleet, urls []string) []string {
			skewed := startFleet(ctx, t, fleetConfig{Masters: 2, Durable: true, Clocks: true})
			ahead, fast := skewed.masters[0], skewed.masters[1]
			ahead.did(t, "move the clock of", ahead.container.MoveClock(time.Hour))
			fast.did(t, "speed up the clock of", fast.container.RunClock(1.1))
			urls[1], urls[2] = ahead.url(), fast.url()
			return urls
		},
		[]string{"warning clock-offset 127.0.0.1:", "is 1h0m0s ahead of the others' median", "warning clock-rate 127.0.0.1:", "and leases allow for 22ms: its votes do not count"},
		0,
	},
	{
		"another set of masters", func(ctx context.Context, t *testing.T, f *fleet, urls []string) []string {
			time.Sleep(81 * time.Second) // a younger master may be one of the others that restarted
			other := f.client(redlock.Config{Masters: urls[1:], Name: "orders-api"})
			mustUnlock(ctx, t, mustLock(ctx, t, other, "orders:8"))
			return urls[:2]
		},
		[]string{"other-sets", "orders-api on ", "majorities of these and of the masters examined need not meet"},
		-1,
	},
	{ // the last one: the master counts as promoted afterwards
		"a replica", func(_ context.Context, t *testing.T, f *fleet, urls []string) []string {
			f.masters[1].do(t, "REPLICAOF", "127.0.0.1", 1)
			t.Cleanup(func() { f.masters[1].do(t, "REPLICAOF", "NO", "ONE") })
			return urls
		},
		[]string{"warning role ADDR: is a replica, not a master (of 127.0.0.1:1)"},
		0,
	},
}

// TestDoctor: doctor finds nothing on a healthy fleet but that it is open, and on one machine, and each fault that is planted there: by its ID, in
// the line that it prints, and with the exit code.
func TestDoctor(t *testing.T) {
	t.Parallel()
	ctx := begin(t, 5*time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 5, Durable: true})
	healthy := func(t *testing.T) {
		t.Helper()
		screen, code := doctor(ctx, t, f.urls())
		for _, part := range []string{
			"warning same-host 5 of 5 masters are on one host, 127.0.0.1:",
			"warning no-password each master: lets in everybody who reaches it, without a password (it listens on 0.0.0.0, with protected-mode off)",
			"Locks are safe here: 2 warnings.",
		} {
			if code != 0 || !strings.Contains(screen, part) {
				t.Errorf("of a healthy fleet doctor does not say %q, with exit code %d:\n%s", part, code, screen)
			}
		}
	}
	healthy(t)
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			urls := fault.plant(ctx, t, f, f.urls())
			screen, code := doctor(ctx, t, urls, "--name", "orders:")
			for _, part := range fault.says {
				if want := strings.ReplaceAll(part, "ADDR", f.masters[1].addr); !strings.Contains(screen, want) {
					t.Errorf("doctor does not say %q:\n%s", want, screen)
				}
			}
			if code != fault.code && fault.code >= 0 {
				t.Errorf("exit code %d, want %d", code, fault.code)
			}
		})
	}
}

// urls are where clients connect.
func (f *fleet) urls() (urls []string) {
	for _, m := range f.masters {
		urls = append(urls, m.url())
	}
	return urls
}

// everythingAt describes all that a master has: keys with their values and expiries, settings and users.
func (m *master) everythingAt(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{
		"settings": fmt.Sprintf("%q", m.do(t, "CONFIG", "GET", "*")),
		"users":    fmt.Sprintf("%q", m.do(t, "ACL", "LIST")),
	}
	keys, err := redis.Strings(m.do(t, "KEYS", "*"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		// When it expires, to the half second: PEXPIRETIME is not in Redis 6.2.
		end := "never"
		if left, err := redis.Int64(m.do(t, "PTTL", key), nil); err != nil {
			t.Fatal(err)
		} else if left >= 0 {
			end = time.Now().Add(time.Duration(left) * time.Millisecond).Round(time.Second).Format(time.TimeOnly)
		}
		all[key] = fmt.Sprintf("%q until %s", m.do(t, "DUMP", key), end)
	}
	return all
}

// TestDoctorLeavesNoTrace: of what the masters have, doctor changes nothing.
func TestDoctorLeavesNoTrace(t *testing.T) {
	t.Parallel()
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3, Durable: true})
	client := f.client(redlock.Config{NoRecord: true})
	hold, err := client.LockFor(ctx, "orders:1", 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range f.masters {
		m.do(t, "SET", "doctor:", "mine")
		m.do(t, "SET", "cache", "c2l4dGVlbiByYW5kb20gYg", "PX", 600_400)
		m.do(t, "HSET", "user", "name", "bob")
		m.do(t, "ZADD", "redlock_fence:{odd}", 1, "a")
	}
	before := make([]map[string]string, len(f.masters))
	for i, m := range f.masters {
		before[i] = m.everythingAt(t)
		delete(before[i], "redlock_sets") // which the client refreshes
	}
	doctor(ctx, t, f.urls())
	for i, m := range f.masters {
		after := m.everythingAt(t)
		delete(after, "redlock_sets")
		for key, was := range before[i] {
			if is := after[key]; is != was && !sameWithinASecond(was, is) {
				t.Errorf("%s: %s was %s, and is %s", m.name, key, was, is)
			}
			delete(after, key)
		}
		for key, is := range after {
			t.Errorf("%s: doctor left %s: %s", m.name, key, is)
		}
	}
	mustUnlock(ctx, t, hold)
}

// sameWithinASecond reports whether two descriptions differ in a rounded time only.
func sameWithinASecond(a, b string) bool {
	value, end, _ := strings.Cut(a, " until ")
	other, otherEnd, _ := strings.Cut(b, " until ")
	t1, err1 := time.Parse(time.TimeOnly, end)
	t2, err2 := time.Parse(time.TimeOnly, otherEnd)
	return value == other && err1 == nil && err2 == nil && t1.Sub(t2).Abs() <= time.Second
}
