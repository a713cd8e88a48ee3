package node

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// TestPingWithoutPong: a master that answers PING with anything else is given up until it does not. See TestPong.
func TestPingWithoutPong(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		var lies atomic.Bool
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
			if words == "PING" && lies.Load() {
				return "OK"
			}
			return nil
		}})
		n := started(t, cfg)
		lies.Store(true)
		time.Sleep(5 * time.Second)
		got := n.Ready()
		check.That(t, errors.Is(got, server.ErrReply) && contains(got, "PING"), "Ready: got %v, want that its PING is wrong", got)
		lies.Store(false)
		waitUntil(t, time.Second, n.isUp)
	})
}

// TestUnaskedReply: a reply that nobody asked for is not written out, however long it is.
func TestUnaskedReply(t *testing.T) {
	withNode(t, func(t *testing.T, _ *redlocktest.Master, n *Node) {
		n.mu.Lock()
		defer n.mu.Unlock()
		l := n.link
		reply := slices.Repeat([]any{[]byte(strings.Repeat("x", 1e6))}, 100)
		n.receiveLocked(l, nil, reply, nil)
		check.That(t, len(l.err().Error()) <= 300, "what is said of it: %.500v", l.err())
	})
}

// TestPanicOfAConnection: the reader survives a connection that panics, in the handshake and later.
func TestPanicOfAConnection(t *testing.T) {
	for _, at := range []string{"INFO server", "EVAL", "SUBSCRIBE"} {
		subtest(t, at, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var well atomic.Bool
			cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
				if strings.HasPrefix(words, at) && !well.Load() {
					panic("makeslice: len out of range")
				}
				return nil
			}})
			n := start(t, cfg)
			n.Subscribe("a", new(recorder))
			got := sendAndWait(n, script.Inspect("k"))
			if at != "SUBSCRIBE" && !contains(got.Err, "makeslice") {
				t.Errorf("inspect: got %v (%v), want the reason", got.Outcome, got.Err)
			}
			well.Store(true)
			waitUntil(t, time.Second, n.isUp)
			want(t, "afterwards", sendAndWait(n, script.Inspect("k")), script.Done)
		})
	}
}
