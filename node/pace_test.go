package node

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// How much a master is sent, and how often it is dialed.

// The late answers to a burst halve the window once: they all tell of the window before. It never closes.
func TestABurstHalvesTheWindowOnce(t *testing.T) {
	begin := clock.Now()
	at := func(s int) clock.Instant { return begin.Add(time.Duration(s) * time.Second) }
	p := pace{window: 64}
	for _, tt := range []struct{ sent, answered, window int }{
		{0, 1, 32}, {0, 1, 32}, {1, 2, 32}, {2, 3, 16}, {2, 4, 16}, {4, 5, 8}, {6, 7, 4}, {8, 9, 2}, {10, 11, 1}, {12, 13, 1},
	} {
		if p.answered(at(tt.sent), at(tt.answered), true, true); p.window != tt.window {
			t.Fatalf("after a late answer at %d s to what was sent at %d s: window %d, want %d", tt.answered, tt.sent, p.window, tt.window)
		}
	}
}

// After a connection that was given up, the window grows with each full one that is answered in time. In a bubble, which is
// in the year 2000, all instants come before the zero one.
func TestTheWindowOpensAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.Now()
		p := pace{window: firstWindow}
		p.hopeless(now)
		for want := 2; want < 5; want++ {
			sent := now.Add(time.Millisecond)
			now = sent.Add(time.Millisecond)
			p.answered(sent, now, true, false)
			check.Equal(t, p.window, want, "the window")
		}
	})
}

// A command that is dropped, since it waited for too long, takes what else waits of its owner along only if it was the
// first: of another, the master may have a hold or an entry, so its release goes out.
func TestADroppedCommandLeavesTheRelease(t *testing.T) {
	x := script.NewOwner("k", id("x:r1"))
	again := script.QueueEntry{Round: 2, Since: 1, Lease: lease, Proposal: 1}
	for name, tt := range map[string]struct {
		cmd      *script.Command
		released bool
	}{
		"the first round": {x.AcquireOrRegister(lease, script.QueueEntry{Round: 1, Since: 1, Lease: lease, Proposal: 1}), false},
		"a later round":   {x.AcquireOrRegister(lease, again), true},
		"a later entry":   {x.Register(again), true},
		"a re-entry":      {x.Enter(lease, 2), true},
		"a raise":         {x.Raise(lease, 2), true},
	} {
		t.Run(name, func(t *testing.T) {
			n := &Node{cfg: Config{Timeout: timeout}, state: up}
			now := clock.Now()
			for cmd, waited := range map[*script.Command]time.Duration{tt.cmd: timeout, x.Release(1, 1): timeout / 2} {
				c := n.newCallLocked(cmd, nil)
				c.sent = now.Add(-waited)
				n.queue.Push(c)
			}
			slices.SortFunc(n.queue.All(), func(a, b call) int { return int(a.sent.Sub(b.sent)) })
			n.dropStaleLocked(nil, now, timeout)
			got := n.queue.Len() == 1 && n.queue.All()[0].cmd.Repeats()
			check.That(t, got == tt.released && n.queue.Len() <= 1, "%d commands wait, the release among them: %v; want %v", n.queue.Len(), got, tt.released)
		})
	}
}

// So it is if a release enters the owner after all, though its first command was dropped.
func TestADroppedCommandOfWhoIsEntered(t *testing.T) {
	x, y := script.NewOwner("k", id("x:r1")), script.NewOwner("k", id("y:r1"))
	entry := script.QueueEntry{Round: 1, Since: 1, Lease: lease, Proposal: 1}
	n := &Node{cfg: Config{Timeout: timeout}, state: up}
	now := clock.Now()
	for i, cmd := range []*script.Command{y.AcquireOrRegister(lease, entry), x.Release(1, 1).Entering(y, entry), y.Release(1, 1)} {
		c := n.newCallLocked(cmd, nil)
		c.sent = now.Add(-timeout / time.Duration(i+1))
		n.queue.Push(c)
	}
	n.dropStaleLocked(nil, now, timeout)
	check.Equal(t, n.queue.Len(), 2, "commands wait, both releases")
}

// TestConnectionsThatBreakAtOnce: a master whose connections break soon after they were made is dialed twice a second or so,
// be they for commands or for messages. Of the latter the log says so once, until one has held.
func TestConnectionsThatBreakAtOnce(t *testing.T) {
	for _, messages := range []bool{false, true} {
		subtest(t, fmt.Sprintf("for messages %v", messages), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var breaks atomic.Bool
			var dials atomic.Int32
			var last atomic.Pointer[net.Conn]
			cfg.Pool = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
				conn, err := m.Dial(ctx)
				dials.Add(1)
				last.Store(&conn)
				if breaks.Load() {
					time.AfterFunc(10*time.Millisecond, func() { conn.Close() })
				}
				return redis.NewConn(conn, 0, 0), err
			}}
			log := logged(&cfg)
			n := started(t, cfg)
			if messages {
				n.Subscribe("a", new(recorder))
			}
			for run := 1; run <= 2; run++ {
				time.Sleep(5 * time.Second)
				before := dials.Load()
				breaks.Store(true)
				(*last.Load()).Close()
				time.Sleep(30 * time.Second)
				breaks.Store(false)
				check.Between(t, dials.Load()-before, 40, 100, "dials in half a minute")
				if messages {
					log.want(t, run, "no subscription")
				}
			}
		})
	}
}

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
			rules := new(bent.Rules)
			cfg.Pool = bent.Pool(cfg.Pool, rules)
			n := started(t, cfg)
			before, calls := rules.Flushes.Load(), scriptCalls(m)
			m.Delay(time.Millisecond)
			sent := queued(n, acquires(many)...)
			synctest.Wait()
			check.Equal(t, rules.Flushes.Load(), before, "flushes before Flush")
			n.Flush()
			for i, p := range sent {
				got := p.wait()
				want(t, fmt.Sprint("command ", i), got, script.Done)
				check.That(t, got.Token != 0 && got.times == 1, "command %d: answered %d times, with token %d", i, got.times, got.Token)
			}
			check.Equal(t, rules.Flushes.Load()-before, flushes, "flushes")
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
			cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Reply: func(words string) any {
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
