package node

import (
	"fmt"
	"io"
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
				want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
				m.Kill()
				waitUntil(t, 3*time.Second, n.isDown)
				want(t, "release", sendAndWait(n, script.NewOwner("k", "me:1").Release(1, 0)), script.Unsent)
				if got := n.unackedCount(); got != 1 {
					t.Errorf("unacknowledged: got %d, want 1", got)
				}
				tt.restart(m)
				calls := m.Calls("EVALSHA") + m.Calls("EVAL")
				waitUntil(t, time.Second, n.isUp)
				wantHolder(t, m, "k", "")
				if got := m.Calls("EVALSHA") + m.Calls("EVAL"); got == calls {
					t.Error("script calls after the restart: got none")
				}
				if got := n.unackedCount(); got != 0 {
					t.Errorf("unacknowledged: got %d, want 0", got)
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
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
		m.Delay(time.Hour)
		released := send(n, script.NewOwner("k", "me:1").Release(1, 0))
		synctest.Wait()
		m.Delay(10 * time.Millisecond) // the next command finds the next connection not yet open
		acquired := send(n, script.NewOwner("k", "me:2").Acquire(lease, 1))
		want(t, "release", released.wait(), script.Unknown)
		want(t, "acquire, sent over the same connection", acquired.wait(), script.Unknown)
		waitUntil(t, givenUp, n.isUp)
		want(t, "acquire, sent when it had broken", sendAndWait(n, script.NewOwner("k", "me:2").Acquire(lease, 1)), script.Done)
		wantHolder(t, m, "k", "me:2")
	})
}

// TestUnackedReleaseWithoutScript: a master that has lost the script as well gets its source, and
// is not up before it has run the release.
func TestUnackedReleaseWithoutScript(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
		m.Delay(time.Hour)
		released := send(n, script.NewOwner("k", "me:1").Release(1, 0))
		synctest.Wait()
		m.Delay(10 * time.Millisecond) // the next command finds the next connection not yet open
		m.FlushScripts()
		want(t, "release", released.wait(), script.Unknown)
		another := start(t, Config{Pool: cfg.Pool, Timeout: timeout, Logger: cfg.Logger})
		another.Send(script.NewOwner("x", "you:1").Acquire(lease, 1), noReceiver{}, 0) // loads the script
		waitUntil(t, givenUp+time.Second, n.isUp)
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:2").Acquire(lease, 1)), script.Done)
		wantHolder(t, m, "k", "me:2")
	})
}

// TestUnackedReleasesKeepTheirOrder: a release that the master had no time for, so that the connection
// is given up, is repeated before what was sent after it.
func TestUnackedReleasesKeepTheirOrder(t *testing.T) {
	t.Run("the connection breaks", func(t *testing.T) { unackedReleasesKeepTheirOrder(t, io.EOF) })
	t.Run("the next one is answered", func(t *testing.T) { unackedReleasesKeepTheirOrder(t, nil) })
}

func unackedReleasesKeepTheirOrder(t *testing.T, then any) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var busy atomic.Bool // from now on: the first command meets a busy master, the next none
		var met int
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
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
		want(t, "acquire", sendAndWait(n, a.Acquire(lease, 1)), script.Done)
		m.Delay(time.Millisecond)
		busy.Store(true)
		first := send(n, a.ReleaseTo(1, 0, b, script.QueueEntry{Round: 1, Since: 7, Lease: short, Proposal: 1}))
		second := send(n, b.Release(1, 7)) // it gives up
		first.wait()
		second.wait()
		m.Del("k")
		m.HSet("k", "you:1", "1")
		m.Expire("k", time.Minute)
		waitUntil(t, 5*time.Second, n.isUp)
		synctest.Wait()
		if queue := m.ZSet("redlock_wait:{k}"); len(queue) > 0 {
			t.Errorf("queue: got %v, want none: its only waiter gave up", queue)
		}
	})
}

// TestOnlyReleasesAreKept: only releases are kept to be sent again.
func TestOnlyReleasesAreKept(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Kill()
		waitUntil(t, 3*time.Second, n.isDown)
		for _, cmd := range []*script.Command{
			script.NewOwner("k", "me:1").Acquire(lease, 1),
			script.Renew(lease, []script.Renewal{{Owner: script.NewOwner("k", "me:1"), Count: 1, Token: 1}}),
			script.Inspect("k"),
			script.Force("k", 1),
		} {
			want(t, "while down", sendAndWait(n, cmd), script.Unsent)
		}
		if got := n.unackedCount(); got != 0 {
			t.Errorf("unacknowledged: got %d, want 0", got)
		}
		m.RestartWithData()
		waitUntil(t, time.Second, n.isUp)
		wantHolder(t, m, "k", "")
	})
}

// TestUnackedReleasesDoNotPileUp: at a master that answers handshakes and nothing else, only what
// was sent before that was found out is kept, since the master is not up again before it has run
// it. That does not end with the longest lease.
func TestUnackedReleasesDoNotPileUp(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hung atomic.Bool
		cfg.MaxLease = 3 * time.Second
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{drop: func(words string) bool {
			return hung.Load() && strings.HasPrefix(words, "EVAL")
		}})
		n := started(t, cfg)
		hung.Store(true)
		unsent := 0
		for i := range 300 {
			owner := fmt.Sprint("me:", i)
			if got := sendAndWait(n, script.NewOwner("k", owner).Acquire(lease, 1)); got.Outcome.MayHold() {
				n.Send(script.NewOwner("k", owner).Release(1, 0), noReceiver{}, 0)
			} else {
				unsent++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if unsent < 290 {
			t.Errorf("acquires Unsent: got %d of 300, want nearly all", unsent)
		}
		if got := n.unackedCount(); got > 5 {
			t.Errorf("unacknowledged: got %d, want few", got)
		}
		hung.Store(false)
		waitUntil(t, 2*time.Second, n.isUp)
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:x").Acquire(lease, 1)), script.Done)
	})
}

// TestResendingIsCutShort: what was kept is still kept if the next connection breaks as well.
func TestResendingIsCutShort(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		killAndWait(t, m, n)
		const many = 3 * maxBatch
		for i := range many {
			n.Send(ownerNumber(i).Release(1, 0), noReceiver{}, 0)
		}
		m.Delay(5 * time.Millisecond)
		m.RestartWithData()
		waitUntil(t, time.Second, func() bool { // the first batch is under way
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.link != nil && n.link.inFlight.len() > 0
		})
		m.Kill()
		time.Sleep(20 * time.Millisecond)
		if got := n.unackedCount(); got != many {
			t.Errorf("unacknowledged: got %d, want all %d", got, many)
		}
	})
}

// TestBatchesAreBounded: no more is in flight at once while releases are sent again,
// and what waits for it is written in parts.
func TestBatchesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		killAndWait(t, m, n)
		for i := range 5 * maxBatch {
			n.Send(ownerNumber(i).Release(1, 0), noReceiver{}, 0)
		}
		m.Delay(5 * time.Millisecond)
		m.Restart()
		most := 0
		waitUntil(t, 3*time.Second, func() bool {
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.link != nil && n.state != up {
				most = max(most, n.link.inFlight.len())
			}
			return n.state == up
		})
		if least := firstWindow; most < least || most > maxBatch {
			t.Errorf("in flight: got up to %d, want from %d to %d", most, least, maxBatch)
		}
	})
	n := &Node{state: up, wake: make(chan struct{}, 1), pace: pace{window: 2 * maxBatch}}
	for i := range maxBatch + 10 {
		n.queue = append(n.queue, n.newCallLocked(ownerNumber(i).Release(1, 0), nil, 0))
	}
	queued := slices.Clone(n.queue)
	l := &link{}
	batch := n.fillBatchLocked(l, nil)
	rest := n.fillBatchLocked(l, nil)
	if len(batch) != maxBatch || len(rest) != 10 || !slices.Equal(append(batch, rest...), queued) {
		t.Errorf("batches of %d and %d calls, want all in order, %d and 10", len(batch), len(rest), maxBatch)
	}
}

// TestUpUnderLoad: a master that returns is up once it has run what was kept when it
// connected, however much is released meanwhile.
func TestUpUnderLoad(t *testing.T) {
	for _, delay := range []time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				killAndWait(t, m, n)
				m.Delay(delay)
				m.Restart()
				i := 0
				waitUntil(t, time.Second+8*delay, func() bool {
					i++
					n.Send(ownerNumber(i).Release(1, 0), noReceiver{}, 0)
					return n.isUp()
				})
			})
		})
	}
}

// TestReleasedWhileResending: what is released while older releases are sent again goes out
// before any command that is sent when it is up.
func TestReleasedWhileResending(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", sendAndWait(n, ownerNumber(1).Acquire(lease, 1)), script.Done)
		want(t, "acquire", sendAndWait(n, script.NewOwner("x", "me:2").Acquire(lease, 1)), script.Done)
		killAndWait(t, m, n)
		send(n, script.NewOwner("x", "me:2").Release(1, 0))
		m.Delay(5 * time.Millisecond)
		m.RestartWithData()
		waitUntil(t, time.Second, func() bool { // what was owed is under way
			n.mu.Lock()
			defer n.mu.Unlock()
			return n.link != nil && n.link.inFlight.len() > 0
		})
		want(t, "release", sendAndWait(n, ownerNumber(1).Release(1, 0)), script.Unsent)
		waitUntil(t, time.Second, n.isUp)
		want(t, "acquire", sendAndWait(n, ownerNumber(3).Acquire(lease, 1)), script.Done)
		wantHolder(t, m, "k", "me:3")
	})
}
