package node

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// gathered sends cmds together.
func gathered(n *Node, m *redlocktest.Master, cmds ...*script.Command) []*pending {
	m.Delay(time.Millisecond)
	sent := queued(n, cmds...)
	n.Flush()
	return sent
}

// acquires are k acquires of different names.
func acquires(k int) []*script.Command {
	var cmds []*script.Command
	for i := range k {
		cmds = append(cmds, script.NewOwner(fmt.Sprint("k", i), id(fmt.Sprint("me:", i))).Acquire(lease, int64(i+1)))
	}
	return cmds
}

// TestCallsGather: commands that have gathered are written with Flush, as many together as the window has room for, and
// each is answered as if it had been alone.
func TestCallsGather(t *testing.T) {
	for many, flushes := range map[int]int64{1: 1, 2: 1, firstWindow: 1, firstWindow + 1: 2} {
		subtest(t, fmt.Sprint(many), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			rules := new(bendRules)
			cfg.Pool = withBentConns(cfg.Pool, rules)
			n := started(t, cfg)
			before, calls := rules.flushes.Load(), scriptCalls(m)
			m.Delay(time.Millisecond)
			sent := queued(n, acquires(many)...)
			synctest.Wait()
			check.Equal(t, rules.flushes.Load(), before, "flushes before Flush")
			n.Flush()
			for i, p := range sent {
				got := p.wait()
				want(t, fmt.Sprint("command ", i), got, script.Done)
				check.That(t, got.Token != 0 && got.times == 1, "command %d: answered %d times, with token %d", i, got.times, got.Token)
			}
			check.Equal(t, rules.flushes.Load()-before, flushes, "flushes")
			check.Equal(t, scriptCalls(m)-calls, int64(many), "calls")
		})
	}
}

// TestReplyThatMakesNoSense: it is the answer to its own command only. Where the master can serve no lock,
// the connection is given up.
func TestReplyThatMakesNoSense(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply any
		says  string
		up    bool // afterwards
	}{
		{"a list", []any{int64(2)}, "unexpected reply", true},
		{"a word", "x", "unexpected reply", true},
		{"refused", redis.Error("ERR unknown command 'EVALSHA', with args beginning with: "), "unknown command", true},
		{"forbidden", redis.Error("NOPERM this user has no permissions to access one of the keys used as arguments"), "NOPERM", true},
		{"cannot serve", redis.Error("MISCONF Errors writing to the AOF file"), "MISCONF", false},
		{"has lost its scripts", redis.Error("NOSCRIPT No matching script. Please use EVAL."), "NOSCRIPT", false},
		{"cannot serve a hold", []any{redis.Error("READONLY You can't write")}, "READONLY", false},
	} {
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var bend atomic.Bool
			cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
				if strings.HasPrefix(words, "EVALSHA") && strings.Contains(words, id("me:1")) && bend.CompareAndSwap(true, false) {
					return tt.reply
				}
				return nil
			}})
			n := started(t, cfg)
			bend.Store(true)
			links := m.Calls("CLIENT")
			bent := script.Renew(lease, []script.Renewal{{Owner: script.NewOwner("k1", id("me:1")), Count: 1, Token: 1}})
			if _, list := tt.reply.([]any); !list || tt.up {
				bent = script.NewOwner("k1", id("me:1")).Release(1, 0)
			}
			sent := gathered(n, m, acquires(1)[0], bent)
			want(t, "before", sent[0].wait(), script.Done)
			wantErr(t, "what is bent", sent[1].wait(), script.Failed, tt.says)
			time.Sleep(heartbeat / 2) // a master that cannot serve is tried again
			check.Equal(t, m.Calls("CLIENT") == links, tt.up, "the connection goes on")
			want(t, "behind", sendAndWait(n, script.NewOwner("k2", id("me:2")).Acquire(lease, 1)), script.Done)
		})
	}
}

// queued queues cmds.
func queued(n *Node, cmds ...*script.Command) (sent []*pending) {
	for _, cmd := range cmds {
		p := &pending{sent: time.Now(), done: make(chan struct{})}
		n.Queue(cmd, p)
		sent = append(sent, p)
	}
	return sent
}
