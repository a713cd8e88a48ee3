package node

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// TestScriptsAreThereFirst: the first command of a node, whatever it is, finds its script, which is loaded once for
// all nodes.
func TestScriptsAreThereFirst(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(t *testing.T, m *redlocktest.Master, cfg Config)
		calls  func(all int64) int64 // of SCRIPT
	}{
		"none": {func(*testing.T, *redlocktest.Master, Config) {}, func(all int64) int64 { return 1 + all }},
		"all":  {func(t *testing.T, _ *redlocktest.Master, cfg Config) { started(t, cfg).Close() }, func(int64) int64 { return 1 }},
		"one": {func(t *testing.T, m *redlocktest.Master, cfg Config) {
			started(t, cfg).Close()
			m.FlushScripts()
			conn := cfg.Pool.Get()
			defer conn.Close()
			loadScripts(t, conn, 1)
		}, func(all int64) int64 { return all }},
	} {
		subtest(t, name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			tt.before(t, m, cfg)
			before := m.Calls("SCRIPT")
			n, o := start(t, cfg), script.NewOwner("k", id("me:1"))
			for i, cmd := range []*script.Command{
				o.Acquire(lease, 1), o.Enter(lease, 2), o.Leave(1), o.Raise(lease, 7), script.Inspect("k"),
				script.Renew(lease, []script.Renewal{{Owner: o, Count: 1, Token: 7}}), o.Release(7, 0),
			} {
				want(t, fmt.Sprint("command ", i), sendAndWait(n, cmd), script.Done)
			}
			check.Equal(t, m.Calls("SCRIPT")-before, tt.calls(int64(len(loads(t)))), "calls of SCRIPT")
			check.Equal(t, m.Calls("EVAL"), 0, "locks by their source")
		})
	}
}

// loadScripts loads so many scripts.
func loadScripts(t *testing.T, c redis.Conn, many int) {
	t.Helper()
	for _, words := range loads(t)[:many] {
		_, err := c.Do(words[0].(string), words[1:]...)
		check.OK(t, err)
	}
}

// loads are the commands that load all scripts.
func loads(t *testing.T) [][]any {
	t.Helper()
	var none []any
	for range script.Exist[2:] {
		none = append(none, int64(0))
	}
	all, err := script.Missing(none)
	check.OK(t, err)
	return all
}

// TestScriptsAreRefused: a master that does not tell of its scripts, or takes none, is not used, and the error says
// why. One that has them all need not take any.
func TestScriptsAreRefused(t *testing.T) {
	const denied = redis.Error("NOPERM this user has no permissions to run the 'script' command or its subcommand")
	for _, tt := range []struct {
		command string
		reply   any
		says    string // empty: it is used
		has     bool   // the scripts
	}{
		{"SCRIPT EXISTS", denied, "subcommand (the user needs the permission +script|exists)", true},
		{"SCRIPT LOAD", denied, "subcommand (the user needs the permission +script|load)", false},
		{"SCRIPT LOAD", denied, "", true},
		{"SCRIPT LOAD", redis.Error("OOM command not allowed when used memory > 'maxmemory'."), "OOM", false}, // as the newest Valkey says
		{"SCRIPT", redis.Error("ERR unknown command 'SCRIPT', with args beginning with: 'EXISTS'"), "ERR unknown command 'SCRIPT'", true},
		{"SCRIPT EXISTS", []any{int64(1)}, "unexpected reply to a script", true},
		{"SCRIPT EXISTS", "OK", "unexpected reply to a script", true},
	} {
		subtest(t, fmt.Sprint(tt.command, tt.reply, tt.has), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			if tt.has {
				started(t, cfg).Close()
			}
			cfg.Pool = bent.Reply(cfg.Pool, tt.command, tt.reply)
			n := start(t, cfg)
			synctest.Wait()
			got := sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1))
			if tt.says == "" {
				want(t, "acquire", got, script.Done)
				return
			}
			wantErr(t, "acquire", got, script.Unsent, tt.says)
			hopeless := tt.reply == denied || strings.Contains(tt.says, "unknown command")
			check.That(t, hopeless != server.Heals(got.Err), "heals: got %v, want %v", !hopeless, !hopeless)
		})
	}
}

// TestLostScripts: what finds that the scripts are gone fails, and what comes next goes through at once, over a
// connection that has loaded them. A release is repeated.
func TestLostScripts(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		o := script.NewOwner("k", id("me:1"))
		for range 3 { // once each half second is not a loop
			want(t, "acquire", sendAndWait(n, o.Acquire(lease, 1)), script.Done)
			m.FlushScripts()
			wantErr(t, "release", sendAndWait(n, o.Release(1, 0)), script.Failed, "NOSCRIPT")
			got := sendAndWait(n, script.Inspect("k"))
			want(t, "inspect", got, script.Done)
			check.Equal(t, got.Holder, "", "its holder")
			check.Equal(t, got.after, 0, "it took")
			time.Sleep(heartbeat / 2)
		}
	})
}

// TestScriptsAreAlwaysLost: a master that keeps no script, whatever it is told, is not asked without end, and each
// command is answered in time.
func TestScriptsAreAlwaysLost(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var dialed atomic.Int64
		cfg.Pool = bent.Reply(bent.Wrapped(cfg.Pool, func(c redis.Conn) redis.Conn {
			dialed.Add(1)
			return c
		}), "EVALSHA", redis.Error("NOSCRIPT No matching script."))
		n := start(t, cfg)
		m.Delay(time.Millisecond)
		var all []*pending
		for i := range 100 {
			o := script.NewOwner("k", id(fmt.Sprint("me:", i)))
			all = append(all, send(n, o.Acquire(lease, 1)), send(n, o.Release(1, 0)))
			time.Sleep(100 * time.Millisecond)
		}
		for _, p := range all {
			if got := p.wait(); got.Outcome == script.Done || got.after > 2*timeout || !contains(got.Err, "NOSCRIPT") {
				t.Fatalf("answered %v (%v) after %v, want NOSCRIPT within %v", got.Outcome, got.Err, got.after, 2*timeout)
			}
		}
		check.AtMost(t, dialed.Load(), 40, "connections in 10 s")
	})
}
