package node

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// queued queues cmds.
func queued(n *Node, cmds ...*script.Command) (sent []*pending) {
	for _, cmd := range cmds {
		p := &pending{sent: time.Now(), done: make(chan struct{})}
		n.Queue(cmd, p, 7)
		sent = append(sent, p)
	}
	return sent
}

// TestQueuedCommandsShareAFlush: what is queued is written with Flush, or with what somebody else sends,
// all at once.
func TestQueuedCommandsShareAFlush(t *testing.T) {
	look := func(n *Node) []*pending { return []*pending{send(n, script.Inspect("k"))} }
	none := func(*Node) []*pending { return nil }
	for _, tt := range []struct {
		name       string
		begin, end func(*Node) []*pending
		flushes    int64
	}{
		{"while nothing is in flight", none, none, 1},
		{"while a command is in flight", look, none, 2},
		{"before somebody else sends", none, look, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				conn := countFlushes(&cfg)
				n := started(t, cfg)
				m.Delay(time.Millisecond)
				before := conn.flushes.Load()
				sent := tt.begin(n)
				sent = append(sent, queued(n, acquires(4)...)...)
				sent = append(sent, tt.end(n)...)
				n.Flush()
				for i, p := range sent {
					want(t, fmt.Sprint("command ", i), p.wait(), script.Done)
				}
				n.Flush() // there is nothing left
				synctest.Wait()
				if got := conn.flushes.Load() - before; got != tt.flushes {
					t.Errorf("flushes: got %d, want %d", got, tt.flushes)
				}
			})
		})
	}
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		before := scriptCalls(m)
		sent := queued(n, acquires(1)...)
		synctest.Wait()
		if got := scriptCalls(m) - before; got != 0 {
			t.Errorf("calls before Flush: got %d, want none", got)
		}
		n.Flush()
		want(t, "after Flush", sent[0].wait(), script.Done)
	})
}

// TestQueueOfADeadMaster: what cannot be sent is answered at once, and a release is kept.
func TestQueueOfADeadMaster(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		killAndWait(t, m, n)
		sent := queued(n, acquires(1)[0], script.NewOwner("k", id("me:1")).Release(1, 0))
		for i, p := range sent {
			if got := p.look(); got.times != 1 || got.Outcome != script.Unsent {
				t.Errorf("command %d: got %v after %d answers, want Unsent at once", i, got.Outcome, got.times)
			}
		}
		if got := n.unackedCount(); got != 1 {
			t.Errorf("unacknowledged releases: got %d, want 1", got)
		}
		n.Flush()
	})
}
