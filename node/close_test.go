package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// closed closes n and returns how long that took.
func closed(n *Node) time.Duration {
	begin := time.Now()
	n.Close()
	return time.Since(begin)
}

// TestCloseWaits: what is under way is answered, what is queued is written.
func TestCloseWaits(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Delay(50 * time.Millisecond)
		underWay := send(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
		synctest.Wait()
		queued := send(n, script.NewOwner("k", "me:1").Release(1, 0))
		if got := closed(n); got != 100*time.Millisecond {
			t.Errorf("Close: got %v, want a round trip of 100ms", got)
		}
		want(t, "under way", underWay.look(), script.Done)
		want(t, "queued", queued.look(), script.Done)
		wantHolder(t, m, "k", "")
	})
}

// TestCloseLeavesThePoolAlone: once the node is closed, whose pool may be closed as well, it
// opens no connection any more.
func TestCloseLeavesThePoolAlone(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var late atomic.Int64
		dial := cfg.Pool.DialContext
		cfg.Pool.DialContext = func(ctx context.Context) (redis.Conn, error) {
			if ctx.Err() != nil {
				late.Add(1)
			}
			return dial(ctx)
		}
		n := started(t, cfg)
		m.Kill()
		waitUntil(t, 3*time.Second, n.isDown)
		time.Sleep(10 * time.Second)
		n.Close()
		if late := late.Load(); late > 0 {
			t.Errorf("%d connections were opened after Close, want none", late)
		}
	})
}

// TestCloseLoadsScripts: also what is queued again, because the master lacks the script.
func TestCloseLoadsScripts(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
		m.FlushScripts()
		released := send(n, script.NewOwner("k", "me:1").Release(1, 0))
		n.Close()
		want(t, "release", released.look(), script.Done)
		wantHolder(t, m, "k", "")
	})
}

// TestCloseBeforeConnected: what waits for a connection is given the time it has.
func TestCloseBeforeConnected(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		m.Delay(20 * time.Millisecond)
		m.HSet("k", "me:1", "1")
		n := New(cfg)
		released := send(n, script.NewOwner("k", "me:1").Release(1, 0))
		n.Close()
		want(t, "release", released.look(), script.Done)
		wantHolder(t, m, "k", "")
	})
}

func TestSendAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		n.Close()
		for _, cmd := range []*script.Command{script.NewOwner("k", "me:1").Acquire(lease, 1), script.NewOwner("k", "me:1").Release(1, 0), script.Inspect("k")} {
			got := sendAndWait(n, cmd)
			want(t, "after Close", got, script.Unsent)
			if !errors.Is(got.Err, ErrClosed) {
				t.Errorf("after Close: got error %v, want ErrClosed", got.Err)
			}
		}
		if got := n.unackedCount(); got != 0 {
			t.Errorf("unacknowledged: got %d, want 0", got)
		}
		if got := n.Guard(); got != 0 {
			t.Errorf("Guard: got %v, want 0", got)
		}
		if got := closed(n); got != 0 {
			t.Errorf("second Close: got %v, want no wait", got)
		}
	})
}

// TestCloseLeavesRoom: the pool has no connection of the node's left, and can make others.
func TestCloseLeavesRoom(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool.MaxActive = 1
		n := started(t, cfg)
		n.Close()
		if active := cfg.Pool.ActiveCount(); active != 0 {
			t.Errorf("connections of the pool: got %d, want none", active)
		}
		conn := cfg.Pool.Get()
		defer conn.Close()
		if got, err := conn.Do("PING"); got != "PONG" || err != nil {
			t.Errorf("PING: got %v (%v), want PONG", got, err)
		}
	})
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

// TestCloseWhileItBreaks: a master that dies, or goes on to answer nothing, while Close
// waits for it, does not keep Close.
func TestCloseWhileItBreaks(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(*redlocktest.Master)
	}{
		{"killed", (*redlocktest.Master).Kill},
		{"restarted", (*redlocktest.Master).RestartWithData},
		{"frozen forever", func(*redlocktest.Master) {}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				m.Freeze()
				released := send(n, script.NewOwner("k", "me:1").Release(1, 0))
				time.AfterFunc(timeout/2, func() { tt.fault(m) })
				if got := closed(n); got > timeout {
					t.Errorf("Close: took %v, want at most %v", got, timeout)
				}
				want(t, "release", released.look(), script.Unknown)
			})
		})
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
