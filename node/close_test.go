package node

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// closed closes n and returns how long that took.
func closed(n *Node) time.Duration {
	begin := time.Now()
	n.Close()
	return time.Since(begin)
}

// TestNoConnectionIsLost: whatever happens, none is left open in the end.
func TestNoConnectionIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		for range 5 {
			m.Refuse("MISCONF no disk")
			waitUntil(t, 3*time.Second, n.isDown)
			m.Refuse("")
			waitUntil(t, time.Second, n.isUp)
			m.RestartWithData()
			time.Sleep(3 * time.Second)
			m.SetRole("slave")
			send(n, script.NewOwner("k", "me:1").Acquire(lease, 1)).wait()
			time.Sleep(3 * time.Second)
			m.SetRole("master")
			waitUntil(t, time.Second, n.isUp)
		}
		n.Close()
		if active := cfg.Pool.ActiveCount(); active != 0 {
			t.Errorf("connections of the pool: got %d, want none", active)
		}
		synctest.Wait() // the master has seen it
		if got := m.Connections(); got != 0 {
			t.Errorf("connections of the master: got %d, want none", got)
		}
	})
}

// TestCloseIsBounded: by about two timeouts, in every state, and everything is answered.
func TestCloseIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(*testing.T, *redlocktest.Master, *Node)
		most  time.Duration
	}{
		{"up", func(*testing.T, *redlocktest.Master, *Node) {}, 0},
		{"dead, not noticed", func(_ *testing.T, m *redlocktest.Master, _ *Node) { m.Kill() }, 0},
		{"frozen", func(_ *testing.T, m *redlocktest.Master, _ *Node) { m.Freeze() }, timeout},
		{"cut off", func(_ *testing.T, m *redlocktest.Master, _ *Node) { m.Cut() }, timeout},
		{"down", func(t *testing.T, m *redlocktest.Master, n *Node) {
			m.Kill()
			waitUntil(t, 3*time.Second, n.isDown)
		}, 0},
		{"down and cut off", func(t *testing.T, m *redlocktest.Master, n *Node) {
			m.Cut()
			waitUntil(t, 4*time.Second, n.isDown)
		}, 0},
		{"down and frozen", func(t *testing.T, m *redlocktest.Master, n *Node) {
			m.Freeze()
			waitUntil(t, 4*time.Second, n.isDown)
		}, 2 * timeout},
		{"connecting to a frozen one", func(_ *testing.T, m *redlocktest.Master, n *Node) {
			m.Freeze()
			send(n, script.Inspect("k")).wait()
		}, 2 * timeout},
		{"connecting to one that is cut off", func(_ *testing.T, m *redlocktest.Master, n *Node) {
			m.Cut()
			send(n, script.Inspect("k")).wait()
		}, 2 * timeout},
	} {
		for _, commands := range []int{0, 3} {
			t.Run(fmt.Sprintf("%s, %d commands", tt.name, commands), func(t *testing.T) {
				bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
					n := started(t, cfg)
					tt.fault(t, m, n)
					var sent []*pending
					for range commands {
						sent = append(sent, send(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), send(n, script.NewOwner("k", "me:1").Release(1, 0)))
					}
					if got := closed(n); got > tt.most {
						t.Errorf("Close: took %v, want at most %v", got, tt.most)
					}
					synctest.Wait() // a timer may still pass answers on
					for _, p := range sent {
						if got := p.look().times; got != 1 {
							t.Errorf("answers: got %d, want 1", got)
						}
					}
				})
			})
		}
	}
}

// TestCloseConcurrently: with Sends and other Closes.
func TestCloseConcurrently(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		for range 50 {
			n := New(cfg)
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					for range 10 {
						p := send(n, script.Inspect("k"))
						<-p.done
						if got := p.look(); got.Outcome != script.Done && !errors.Is(got.Err, ErrClosed) {
							t.Errorf("inspect: got %v (%v), want Done or ErrClosed", got.Outcome, got.Err)
						}
					}
				})
			}
			all.Go(n.Close)
			all.Go(n.Close)
			all.Wait()
		}
	})
}
