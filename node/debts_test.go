package node

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestReleaseWhileDown: a release that finds the master down is kept for it.
func TestReleaseWhileDown(t *testing.T) {
	for _, tt := range []struct {
		name    string
		restart func(*redlocktest.Master)
	}{
		{"RestartWithData", (*redlocktest.Master).RestartWithData},
		{"Restart", (*redlocktest.Master).Restart},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "acquire", call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
				m.Kill()
				until(t, 3*time.Second, n.isDown)
				want(t, "release", call1(n, script.NewOwner("k", "me:1").Release(1, 0)), script.Unsent)
				if got := n.debts(); got != 1 {
					t.Errorf("debts: got %d, want 1", got)
				}
				tt.restart(m)
				calls := m.Calls("EVALSHA") + m.Calls("EVAL")
				until(t, time.Second, n.isUp)
				wantHolder(t, m, "k", "")
				if got := m.Calls("EVALSHA") + m.Calls("EVAL"); got == calls {
					t.Error("script calls after the restart: got none")
				}
				if got := n.debts(); got != 0 {
					t.Errorf("debts: got %d, want 0", got)
				}
			})
		})
	}
}

// TestUnansweredRelease: a release that was sent and not answered is repeated as well,
// before anything that was sent later.
func TestUnansweredRelease(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
		m.Delay(time.Hour)
		released := send(n, script.NewOwner("k", "me:1").Release(1, 0))
		synctest.Wait()
		m.Delay(10 * time.Millisecond) // the next command finds the next connection not yet open
		acquired := send(n, script.NewOwner("k", "me:2").Acquire(lease, 1))
		want(t, "release", released.wait(), script.Unknown)
		want(t, "acquire, sent over the same connection", acquired.wait(), script.Unknown)
		want(t, "acquire, sent when it had broken", call1(n, script.NewOwner("k", "me:2").Acquire(lease, 1)), script.Done)
		wantHolder(t, m, "k", "me:2")
	})
}

// TestDebtWithoutScript: a master that has lost the script as well gets its source, and
// is not up before it has carried the release out.
func TestDebtWithoutScript(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
		m.Delay(time.Hour)
		released := send(n, script.NewOwner("k", "me:1").Release(1, 0))
		synctest.Wait()
		m.Delay(10 * time.Millisecond) // the next command finds the next connection not yet open
		m.FlushScripts()
		want(t, "release", released.wait(), script.Unknown)
		another := start(t, Config{Pool: cfg.Pool, Timeout: timeout, Logger: cfg.Logger})
		another.Send(script.NewOwner("x", "you:1").Acquire(lease, 1), nobody{}, 0) // loads acquire.lua
		want(t, "acquire", call1(n, script.NewOwner("k", "me:2").Acquire(lease, 1)), script.Done)
		wantHolder(t, m, "k", "me:2")
	})
}

// TestDebtsKeepTheirOrder: a release that the master had no time for, so that the connection
// is given up, is repeated before what was sent after it.
func TestDebtsKeepTheirOrder(t *testing.T) {
	t.Run("the connection breaks", func(t *testing.T) { debtsKeepTheirOrder(t, io.EOF) })
	t.Run("the next one is answered", func(t *testing.T) { debtsKeepTheirOrder(t, nil) })
}

func debtsKeepTheirOrder(t *testing.T, then any) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var busy atomic.Bool // from now on: the first command meets a busy master, the next none
		var met int
		cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
			if !busy.Load() || !strings.HasPrefix(words, "EVALSHA") {
				return nil
			}
			switch met++; met {
			case 1:
				return redis.Error("BUSY Redis is busy running a script")
			case 2:
				return then
			}
			return nil
		}})
		n := started(t, cfg)
		a, b := script.NewOwner("k", "me:1"), script.NewOwner("k", "me:2")
		want(t, "acquire", call1(n, a.Acquire(lease, 1)), script.Done)
		m.Delay(time.Millisecond)
		busy.Store(true)
		first := send(n, a.ReleaseTo(1, 0, b, script.QueueEntry{Round: 1, Since: 7, Lease: short, Proposal: 1}))
		second := send(n, b.Release(1, 7)) // it gives up
		first.wait()
		second.wait()
		m.Del("k")
		m.HSet("k", "you:1", "1")
		m.Expire("k", time.Minute)
		until(t, 5*time.Second, n.isUp)
		synctest.Wait()
		if queue := m.ZSet("redlock_wait:{k}"); len(queue) > 0 {
			t.Errorf("queue: got %v, want none: its only waiter gave up", queue)
		}
	})
}

// TestNothingOwed: only releases are owed. What was never sent is not repeated either.
func TestNothingOwed(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Kill()
		until(t, 3*time.Second, n.isDown)
		for _, cmd := range []*script.Command{
			script.NewOwner("k", "me:1").Acquire(lease, 1),
			script.Renew(lease, []script.Renewal{{Owner: script.NewOwner("k", "me:1"), Count: 1, Token: 1}}),
			script.Inspect("k"),
			script.Force("k", 1),
		} {
			want(t, "while down", call1(n, cmd), script.Unsent)
		}
		if got := n.debts(); got != 0 {
			t.Errorf("debts: got %d, want 0", got)
		}
		m.RestartWithData()
		until(t, time.Second, n.isUp)
		wantHolder(t, m, "k", "")
	})
}

// TestDebtsDoNotPileUp: at a master that answers handshakes and nothing else, only what
// was sent before it was found out is owed, since it is not up again before it has
// carried that out. That does not end with the longest lease.
func TestDebtsDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hung atomic.Bool
		cfg.MaxLease = 3 * time.Second
		cfg.Pool = bend(cfg.Pool, &rules{swallow: func(words string) bool {
			return hung.Load() && strings.HasPrefix(words, "EVAL")
		}})
		n := started(t, cfg)
		hung.Store(true)
		unsent := 0
		for i := range 300 {
			owner := fmt.Sprint("me:", i)
			if got := call1(n, script.NewOwner("k", owner).Acquire(lease, 1)); got.Outcome.MayHold() {
				n.Send(script.NewOwner("k", owner).Release(1, 0), nobody{}, 0)
			} else {
				unsent++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if unsent < 290 {
			t.Errorf("acquires Unsent: got %d of 300, want nearly all", unsent)
		}
		if got := n.debts(); got > 5 {
			t.Errorf("debts: got %d, want few", got)
		}
		hung.Store(false)
		until(t, 2*time.Second, n.isUp)
		want(t, "acquire", call1(n, script.NewOwner("k", "me:x").Acquire(lease, 1)), script.Done)
	})
}
