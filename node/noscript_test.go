package node

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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
				want(t, "before", call1(n, Inspect("k")), Done)
				tt.lose(m, n)
				m.HSet("k", "me:1", "1")
				before := m.Calls("EVAL")
				for range 3 {
					got := call1(n, Inspect("k"))
					want(t, "after", got, Done)
					if got.Holder != "me:1" {
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
			all = append(all, send(n, Inspect("free")), send(n, NewOwner("k", "me:1").Acquire(lease, 9)))
		}
		for i, p := range all {
			got := p.wait()
			want(t, "command", got, Done)
			if wanted := int64(i % 2 * 9); got.Token != wanted {
				t.Errorf("token %d: got %d, want %d", i, got.Token, wanted)
			}
		}
	})
}

// TestWithdrawn: an acquire or a renewal that the master could not run, because it had
// lost the script, must not be sent again behind the release that takes it back.
func TestWithdrawn(t *testing.T) {
	for _, tt := range []struct {
		name string
		cmd  *Command
	}{
		{"acquire", NewOwner("k", "me:1").Acquire(lease, 1)},
		{"renew", Renew(lease, []Renewal{
			{Owner: NewOwner("other", "me:2"), Count: 1, Token: 1},
			{Owner: NewOwner("k", "me:1"), Count: 1, Token: 1},
		})},
	} {
		for _, known := range []string{"no script", "release.lua"} {
			t.Run(tt.name+", the master has "+known, func(t *testing.T) {
				bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
					n := started(t, cfg)
					m.FlushScripts()
					if known == "release.lua" {
						want(t, "another release", call1(n, NewOwner("x", "me:9").Release(1, 0)), Refused)
					}
					m.Delay(10 * time.Millisecond)
					taken := send(n, tt.cmd)
					synctest.Wait()
					released := send(n, NewOwner("k", "me:1").Release(1, 0))
					wantErr(t, tt.name, taken.wait(), Unsent, "withdrawn")
					want(t, "release", released.wait(), Refused)
					time.Sleep(time.Second)
					wantHolder(t, m, "k", "")
				})
			})
		}
	}
}

// TestWithdrawnFromQueue: the same where the release is not written yet.
func TestWithdrawnFromQueue(t *testing.T) {
	n := &Node{state: up, wake: make(chan struct{}, 1)}
	p := &pending{done: make(chan struct{})}
	acquire := n.call(NewOwner("k", "me:1").Acquire(lease, 1), p, 7)
	n.queue = []*call{n.call(NewOwner("k", "me:1").Release(1, 0), nil, 0)}
	deliver(n.resend(new(link), nil, acquire))
	wantErr(t, "acquire", p.look(), Unsent, "withdrawn")
	if got := len(n.queue); got != 1 {
		t.Errorf("queue: got %d commands, want the release", got)
	}
}

// TestNotWithdrawn: a release of another owner is no reason to drop a command.
func TestNotWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.FlushScripts()
		m.Delay(10 * time.Millisecond)
		taken := send(n, NewOwner("k", "me:1").Acquire(lease, 1))
		released := send(n, NewOwner("k", "me:10").Release(1, 0))
		want(t, "acquire", taken.wait(), Done)
		want(t, "release", released.wait(), Refused)
	})
}

// The same where both are owed to a master that returns without its scripts.
func TestOwedReleaseToAfterGivingUp(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.HSet("k", "y:r0", "1")
		m.Expire("k", lease)
		m.Kill()
		until(t, 3*time.Second, n.isDown)
		send(n, NewOwner("k", "x:r0").ReleaseTo(1, 0, NewOwner("k", "x:r9"), Ask{Number: 1, Since: 20, Lease: short, Proposal: 1}))
		m.Delay(5 * time.Millisecond)
		m.RestartWithData()
		until(t, 3*time.Second, func() bool { // it is under way
			n.mu.Lock()
			defer n.mu.Unlock()
			return len(n.owed) == 0
		})
		time.Sleep(6 * time.Millisecond) // refused, and the refusal is on its way
		m.Delay(0)
		load(t, cfg.Pool)
		m.Delay(5 * time.Millisecond)
		send(n, NewOwner("k", "x:r9").Release(1, 20))
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
				m.HSet("k", "y:r0", "1")
				m.Expire("k", lease)
				m.FlushScripts()
				m.Delay(5 * time.Millisecond)
				release := send(n, NewOwner("k", "x:r0").ReleaseTo(1, 0, NewOwner("k", "x:r9"), Ask{Number: 1, Since: 20, Lease: short, Proposal: 1}))
				time.Sleep(6 * time.Millisecond) // refused, and the refusal is on its way
				m.Delay(0)
				load(t, cfg.Pool)
				m.Delay(5 * time.Millisecond)
				if gaveUp {
					send(n, NewOwner("k", "x:r9").Release(1, 20))
				}
				want(t, "release", release.wait(), Refused)
				time.Sleep(time.Second)
				wantHolder(t, m, "k", "y:r0")
				if waits := m.ZSet("redlock_wait:{k}"); gaveUp != (waits == nil) {
					t.Errorf("queue: %v", waits)
				}
			})
		})
	}
}
