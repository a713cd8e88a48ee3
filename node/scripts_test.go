package node

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
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
			if _, err := conn.Do("SCRIPT", loads(t)[0][1:]...); err != nil {
				t.Fatal(err)
			}
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
			wantEqual(t, "calls of SCRIPT", m.Calls("SCRIPT")-before, tt.calls(int64(len(loads(t)))))
			wantEqual(t, "calls with a source", m.Calls("EVAL"), 0)
		})
	}
}

// loads are the commands that load all scripts.
func loads(t *testing.T) [][]any {
	t.Helper()
	var none []any
	for range strings.Fields(script.Exist)[2:] {
		none = append(none, int64(0))
	}
	all, err := script.Missing(none)
	if err != nil {
		t.Fatal(err)
	}
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
		{"SCRIPT", redis.Error("ERR unknown command 'SCRIPT', with args beginning with: 'EXISTS'"), "ERR unknown command 'SCRIPT'", true},
		{"SCRIPT EXISTS", []any{int64(1)}, "unexpected reply to a script", true},
		{"SCRIPT EXISTS", "OK", "unexpected reply to a script", true},
	} {
		subtest(t, fmt.Sprint(tt.command, tt.reply, tt.has), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			if tt.has {
				started(t, cfg).Close()
			}
			cfg.Pool = withReply(cfg.Pool, tt.command, tt.reply)
			n := start(t, cfg)
			synctest.Wait()
			got := sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1))
			if tt.says == "" {
				want(t, "acquire", got, script.Done)
				return
			}
			wantErr(t, "acquire", got, script.Unsent, tt.says)
			if _, refused := tt.reply.(redis.Error); refused == Heals(got.Err) {
				t.Errorf("heals: got %v, want %v", !refused, !refused)
			}
		})
	}
}

// TestLostScripts: what finds that the scripts are gone fails, and what comes next goes through at once, over a
// connection that has loaded them. A release is repeated.
func TestLostScripts(t *testing.T) {
	withNode(t, func(t *testing.T, m *redlocktest.Master, n *Node) {
		o := script.NewOwner("k", id("me:1"))
		for range 3 { // once each half second is not a loop
			want(t, "acquire", sendAndWait(n, o.Acquire(lease, 1)), script.Done)
			m.FlushScripts()
			wantErr(t, "release", sendAndWait(n, o.Release(1, 0)), script.Failed, "NOSCRIPT")
			got := sendAndWait(n, script.Inspect("k"))
			want(t, "inspect", got, script.Done)
			wantEqual(t, "its holder", got.Holder, "")
			wantEqual(t, "it took", got.after, 0)
			time.Sleep(heartbeat / 2)
		}
	})
}

// TestScriptsAreFlushedInALoop: whatever the pace of its commands, a client whose master loses the scripts every
// 50 ms gets through with the second try at most, and never finds the master down.
func TestScriptsAreFlushedInALoop(t *testing.T) {
	const loop = 50 * time.Millisecond
	for _, pace := range []time.Duration{time.Millisecond, 17 * time.Millisecond, 71 * time.Millisecond, 333 * time.Millisecond} {
		subtestWithNode(t, pace.String(), func(t *testing.T, m *redlocktest.Master, n *Node) {
			m.Delay(time.Millisecond)
			done := make(chan struct{})
			go func() {
				for range 20 * time.Second / loop {
					time.Sleep(loop)
					m.FlushScripts()
				}
				close(done)
			}()
			connections, failed := m.Calls("CLIENT"), 0
			for i := 0; ; i++ {
				select {
				case <-done:
					if failed == 0 || m.Calls("CLIENT") == connections {
						t.Errorf("nothing found the scripts gone, of %d commands", i)
					}
					return
				case <-time.After(pace):
				}
				o := script.NewOwner("k", id(fmt.Sprint("me:", i)))
				got := sendAndWait(n, o.Acquire(lease, int64(i+1)))
				if got.Outcome != script.Done {
					wantErr(t, "acquire", got, script.Failed, "NOSCRIPT")
					failed++
					want(t, "acquire again", sendAndWait(n, o.Acquire(lease, int64(i+1))), script.Done)
				}
				send(n, o.Release(int64(i+1), 0))
			}
		})
	}
}

// TestScriptsAreAlwaysLost: a master that keeps no script, whatever it is told, is not asked without end, and each
// command is answered in time.
func TestScriptsAreAlwaysLost(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = withReply(cfg.Pool, "EVALSHA", redis.Error("NOSCRIPT No matching script."))
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
		if got := m.Calls("CLIENT"); got > 40 {
			t.Errorf("connections in 10 s: got %d, want 40 at most", got)
		}
	})
}
