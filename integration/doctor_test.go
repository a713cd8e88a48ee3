package integration

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	exam "example.com/redlock/doctor"
	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// ofTheMachine are findings that say how busy this machine is, and that all masters are on it.
var ofTheMachine = []string{"same-host", "round-trip", "script-latency", "slow-commands", "clock-rate", "fork"}

// examine returns what else the doctor finds that is worse than most.
func examine(ctx context.Context, cfg redlock.Config, most exam.Severity) error {
	cfg.Prefix = "orders:" // with which doctor needs no name
	report, err := exam.Examine(ctx, cfg, "")
	for _, found := range report.Findings {
		if found.Severity > most && !slices.Contains(ofTheMachine, found.ID) {
			err = errors.Join(err, fmt.Errorf("%v %s %v: %s", found.Severity, found.ID, found.Masters, found.Verdict))
		}
	}
	return err
}

// everything is what a master has: its keys, settings and users.
func (m *master) everything(t *testing.T) (all []any) {
	t.Helper()
	keys, err := redis.Strings(m.do(t, "KEYS", "*"), nil)
	check.OK(t, err)
	slices.Sort(keys)
	for _, key := range keys {
		all = append(all, key, m.do(t, "DUMP", key))
	}
	return append(all, m.do(t, "CONFIG", "GET", "*"), m.do(t, "ACL", "LIST"))
}

// TestDoctor: of a healthy fleet, doctor has nothing to say but that it is open, and changes nothing there. It
// finds what is planted at the second master, by what real servers say. What else it finds, the tests of
// packages doctor and node show.
func TestDoctor(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 3, Durable: func(int) bool { return true }})
	m := f.masters[1]
	for _, key := range []string{"doctor:", "redlock_fence:{odd}"} {
		m.do(t, "SET", key, "mine")
	}
	before := m.everything(t)
	if err := examine(ctx, f.config(redlock.Config{}), exam.Warning); err != nil {
		t.Errorf("a healthy fleet: %v", err)
	}
	if after := m.everything(t); !reflect.DeepEqual(before, after) {
		t.Errorf("doctor has changed something: there was\n%q\nthere is\n%q", before, after)
	}

	set := func(pairs ...any) func([]string) {
		return func([]string) { m.do(t, "CONFIG", append([]any{"SET"}, pairs...)...) }
	}
	// as has the second master examined as a user with this rule.
	as := func(password string, rule []any) func([]string) {
		return func(urls []string) {
			m.do(t, "ACL", rule...)
			urls[1] = "redis://locks:" + password + "@" + m.Addr()
		}
	}
	lacking := slices.DeleteFunc(documentedRule(t), func(word any) bool {
		return slices.Contains([]any{"~redlock_wait:{orders:*", "&redlock_wake:*"}, word)
	})
	for _, tt := range []struct {
		name  string
		plant func(urls []string)
		mend  func(urls []string)
		says  []string
	}{
		{
			"TLS on a plain port", func(urls []string) { urls[1] = "rediss://" + m.Addr() }, nil,
			[]string{"warning reachable: no answer in time to the TLS handshake (a plain port needs redis://)"},
		},
		{"a wrong password", as("wrong", documentedRule(t)), nil, []string{"warning login: WRONGPASS"}},
		{
			"a command that the user may not use", as("password", documentedRule(t, "-zpopmin")), nil,
			[]string{"warning permissions: the user lacks +zpopmin: no lock can be had there"},
		},
		{
			"keys and a channel that the user may not use", as("password", lacking), nil,
			[]string{"warning permissions: the user lacks &redlock_wake:* ~redlock_wait:{orders:*: no lock"},
		},
		{
			"the user of the docs", as("password", documentedRule(t)), nil,
			[]string{"ok permissions: the user may use every command, key and channel", "note unseen: CONFIG GET, ACL GETUSER, SLOWLOG, SCAN refused"},
		},
		{
			"evicts, and is full", set("maxmemory-policy", "allkeys-lru", "maxmemory", "1500000"), set("maxmemory", 0, "maxmemory-policy", "noeviction"),
			[]string{"error eviction-policy: maxmemory-policy is allkeys-lru, and ", "warning memory: ", "warning trial: to acquire fails on a scratch name: OOM"},
		},
		{
			"no guard without appendfsync always", set("appendfsync", "everysec"), set("appendfsync", "always"),
			[]string{"error restart-guard: the restart guard is off, but with appendfsync everysec a restart forgets locks"},
		},
		{
			"no guard, and a user default who may not do everything", func([]string) { m.do(t, "ACL", "SETUSER", "default", "-flushall") }, func([]string) { m.do(t, "ACL", "SETUSER", "default", "+@all") },
			[]string{"error restart-guard: the restart guard is off, but the user default lacks rights"},
		},
		{
			"needs replicas", set("min-replicas-to-write", 1), set("min-replicas-to-write", 0),
			[]string{"warning min-replicas: min-replicas-to-write is 1", "warning trial: to acquire fails on a scratch name: NOREPLICAS"},
		},
		{
			"is a replica", func([]string) { check.OK(t, m.Demote()) }, func([]string) { check.OK(t, m.Promote()) },
			[]string{"warning role: is a replica, not a master (of 127.0.0.1:1)"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := f.config(redlock.Config{})
			tt.plant(cfg.Masters)
			report, err := exam.Examine(ctx, cfg, "orders:")
			check.OK(t, err)
			if tt.mend != nil {
				tt.mend(nil)
			}
			var said strings.Builder
			for _, found := range report.Findings {
				if found.Masters == nil || slices.ContainsFunc(found.Masters, func(name string) bool { return strings.Contains(name, m.Addr()) }) {
					fmt.Fprintf(&said, "%v %s: %s\n", found.Severity, found.ID, found.Verdict)
				}
			}
			for _, part := range tt.says {
				check.That(t, strings.Contains(said.String(), part), "doctor does not say %q of the second master:\n%s", part, &said)
			}
		})
	}
}
