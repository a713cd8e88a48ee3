package node

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
