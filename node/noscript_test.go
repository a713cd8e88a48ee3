package node

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestScriptIsLoadedOnce: a master that has lost its scripts gets the source once.
func TestScriptIsLoadedOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(*redlocktest.Master, *Node)
	}{
		{"SCRIPT FLUSH", func(m *redlocktest.Master, _ *Node) { m.FlushScripts() }},
		{"restart", func(m *redlocktest.Master, n *Node) {
			m.Restart()
			time.Sleep(3 * heartbeat) // the heartbeat notices
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "before", call1(n, script.Inspect("k")), script.Done)
				tt.lose(m, n)
				m.HSet("k", id("me:1"), "1")
				before := m.Calls("EVAL")
				for range 3 {
					got := call1(n, script.Inspect("k"))
					want(t, "after", got, script.Done)
					if got.Holder != id("me:1") {
						t.Errorf("holder: got %q, want me:1", got.Holder)
					}
				}
				if got := m.Calls("EVAL") - before; got != 1 {
					t.Errorf("calls of EVAL: got %d, want 1", got)
				}
			})
		})
	}
}

// TestLostScriptOfMany: of many commands under way, each gets its own answer.
func TestLostScriptOfMany(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.FlushScripts()
		m.Delay(10 * time.Millisecond)
		var all []*pending
		for range 10 {
			all = append(all, send(n, script.Inspect("free")), send(n, script.NewOwner("k", id("me:1")).Acquire(lease, 9)))
		}
		for i, p := range all {
			got := p.wait()
			want(t, "command", got, script.Done)
			if wanted := int64(i % 2 * 9); got.Token != wanted {
				t.Errorf("token %d: got %d, want %d", i, got.Token, wanted)
			}
		}
	})
}

// TestResentBeforeTheQueue: a release that is not written yet comes after what it undoes.
func TestResentBeforeTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.FlushScripts()
		n.mu.Lock()
		n.link.writing = true // a caller writes, so the writer waits
		acquire, release := new(pending), new(pending)
		acquire.done, release.done = make(chan struct{}), make(chan struct{})
		c := n.newCallLocked(script.NewOwner("k", id("me:1")).Acquire(lease, 1), acquire, 7)
		n.queue = []*call{n.newCallLocked(script.NewOwner("k", id("me:1")).Release(1, 0), release, 7)}
		due := n.resendLocked(n.link, nil, c)
		n.link.writing = false
		n.mu.Unlock()
		if len(due) > 0 {
			t.Errorf("resend: got %v, want no answer yet", due)
		}
		n.wakeWriter()
		want(t, "acquire", acquire.wait(), script.Done)
		want(t, "release", release.wait(), script.Done)
	})
}

// TestResentBehindWhatItFollows: a release that was sent before the command and is sent again,
// too, does not undo it.
func TestResentBehindWhatItFollows(t *testing.T) {
	n := &Node{wake: make(chan struct{}, 1)}
	l := &link{loading: make(map[string]bool)}
	leave := n.newCallLocked(script.NewOwner("k", id("me:1")).Leave(1), nil, 0)
	enter := n.newCallLocked(script.NewOwner("k", id("me:1")).Enter(lease, 2), nobody{}, 0)
	l.inFlight.push(leave)
	if due := n.resendLocked(l, nil, enter); len(due) > 0 {
		t.Errorf("resend: answered %v, want nothing", due)
	}
	if !slices.Equal(l.retries, []*call{enter}) {
		t.Errorf("to be sent again: got %d commands, want one", len(l.retries))
	}
}

// TestResendOverABrokenConnection: what was to be written again, and was not, is Unsent. A release
// is owed.
func TestResendOverABrokenConnection(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.HSet("k", id("me:2"), "1")
		acquire, release := &pending{done: make(chan struct{})}, &pending{done: make(chan struct{})}
		n.mu.Lock()
		n.link.writing = true // a caller writes, so the writer waits
		n.resendLocked(n.link, nil, n.newCallLocked(script.NewOwner("k", id("me:1")).Acquire(lease, 1), acquire, 7))
		n.resendLocked(n.link, nil, n.newCallLocked(script.NewOwner("k", id("me:2")).Release(1, 0), release, 7))
		n.mu.Unlock()
		m.Kill()
		synctest.Wait()
		n.mu.Lock()
		n.link.writing = false
		n.mu.Unlock()
		n.wakeWriter()
		want(t, "acquire", acquire.wait(), script.Unsent)
		want(t, "release", release.wait(), script.Unsent)
		m.RestartWithData()
		until(t, time.Second, n.isUp)
		wantHolder(t, m, "k", "")
	})
}

// The same where both are owed to a master that returns without its scripts.
func TestOwedReleaseToAfterGivingUp(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.HSet("k", id("y:r0"), "1")
		m.Expire("k", lease)
		m.Kill()
		until(t, 3*time.Second, n.isDown)
		send(n, script.NewOwner("k", id("x:r0")).ReleaseTo(1, 0, script.NewOwner("k", id("x:r9")), script.QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
		m.Delay(5 * time.Millisecond)
		m.RestartWithData()
		until(t, 3*time.Second, func() bool { // it is under way
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.unacked.len() == 0
		})
		time.Sleep(6 * time.Millisecond) // refused, and the refusal is on its way
		m.Delay(0)
		load(t, cfg.Pool)
		m.Delay(5 * time.Millisecond)
		send(n, script.NewOwner("k", id("x:r9")).Release(1, 20))
		time.Sleep(3 * time.Second)
		if waits := m.ZSet("redlock_wait:{k}"); waits != nil {
			t.Errorf("queue: %v, want none", waits)
		}
	})
}

// A release that the master did not know the script of is sent again, after others. Where the
// next owner gave up meanwhile, it must not enter the queue after all.
func TestReleaseToAgainAfterGivingUp(t *testing.T) {
	for _, gaveUp := range []bool{true, false} {
		t.Run(fmt.Sprintf("gave up=%v", gaveUp), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				m.HSet("k", id("y:r0"), "1")
				m.Expire("k", lease)
				m.FlushScripts()
				m.Delay(5 * time.Millisecond)
				release := send(n, script.NewOwner("k", id("x:r0")).ReleaseTo(1, 0, script.NewOwner("k", id("x:r9")), script.QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
				time.Sleep(6 * time.Millisecond) // refused, and the refusal is on its way
				m.Delay(0)
				load(t, cfg.Pool)
				m.Delay(5 * time.Millisecond)
				if gaveUp {
					send(n, script.NewOwner("k", id("x:r9")).Release(1, 20))
				}
				want(t, "release", release.wait(), script.Refused)
				time.Sleep(time.Second)
				wantHolder(t, m, "k", id("y:r0"))
				if waits := m.ZSet("redlock_wait:{k}"); gaveUp != (waits == nil) {
					t.Errorf("queue: %v", waits)
				}
			})
		})
	}
}

// TestDebtsCarryNoSource: a master that restarted has lost its scripts, and is sent the
// source of each once, however much it owes, and again when it loses it again.
func TestDebtsCarryNoSource(t *testing.T) {
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				dead(t, m, n)
				const many = 3000
				for i := range many {
					n.Send(owner(i).Release(1, 0), nobody{}, 0)
					n.Send(script.NewOwner("x", fmt.Sprint("you:", i)).Leave(1), nobody{}, 0)
				}
				m.Delay(delay)
				before, calls := m.Calls("EVAL"), scriptCalls(m)
				m.Restart()
				until(t, 2*time.Second, n.isUp)
				if got := m.Calls("EVAL") - before; got != 2 {
					t.Errorf("calls of EVAL: got %d, want 2, one for each script", got)
				}
				if got, most := scriptCalls(m)-calls, int64(2*many+maxBatch); got > most {
					t.Errorf("script calls: got %d, want at most %d: those of a batch come twice", got, most)
				}
				m.FlushScripts()
				before = m.Calls("EVAL")
				var all []*pending
				for i := range 100 {
					all = append(all, send(n, owner(i).Release(1, 0)))
				}
				for _, p := range all {
					want(t, "release", p.wait(), script.Refused)
				}
				if got := m.Calls("EVAL") - before; got != 1 {
					t.Errorf("calls of EVAL after SCRIPT FLUSH: got %d, want 1", got)
				}
			})
		})
	}
}

// TestNoScriptForEver: a master that loads no script whatever it is sent answers each
// command all the same, with what it says to the source.
func TestNoScriptForEver(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var broken atomic.Bool
		cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
			switch {
			case !broken.Load():
			case strings.HasPrefix(words, "EVALSHA"):
				return redis.Error("NOSCRIPT No matching script.")
			case strings.HasPrefix(words, "EVAL"):
				return redis.Error("NOPERM this user has no permissions to run the 'eval' command")
			}
			return nil
		}})
		n := started(t, cfg)
		m.Delay(time.Millisecond)
		broken.Store(true)
		calls := scriptCalls(m)
		const many = 100
		var all []*pending
		for range many {
			all = append(all, send(n, script.Inspect("k")))
		}
		for _, p := range all {
			wantErr(t, "inspect", p.wait(), script.Failed, "NOPERM")
		}
		if got := scriptCalls(m) - calls; got > 3*many {
			t.Errorf("script calls: got %d, want at most three for each command", got)
		}
	})
}
