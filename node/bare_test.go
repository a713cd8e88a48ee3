package node

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// bare is a connection without redis.ConnWithContext, as wrappers from before it are.
type bare struct{ redis.ConnWithTimeout }

// TestBareConnections: a pool whose connections cannot be given up is refused, in plain
// words, and once.
func TestBareConnections(t *testing.T) {
	for name, wrap := range map[string]func(redis.Conn) redis.Conn{
		"no context": func(c redis.Conn) redis.Conn { return bare{c.(redis.ConnWithTimeout)} },
		"no context, wrapped": func(c redis.Conn) redis.Conn {
			return &puppet{Conn: bare{c.(redis.ConnWithTimeout)}, rules: new(rules)}
		},
		"neither": func(c redis.Conn) redis.Conn { return struct{ redis.Conn }{c} },
		"neither, with logging": func(c redis.Conn) redis.Conn {
			return redis.NewLoggingConn(struct{ redis.Conn }{c}, slog.NewLogLogger(slog.DiscardHandler, 0), "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				var log strings.Builder
				cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
				cfg.Pool = wrapped(cfg.Pool, wrap)
				n := start(t, cfg)
				n.Subscribe("a", new(diary), 7)
				wantErr(t, "inspect", call1(n, script.Inspect("k")), script.Unsent, errConn.Error())
				time.Sleep(10 * time.Second)
				n.Close()
				if lines := strings.Count(log.String(), "ConnWithContext"); lines != 1 {
					t.Errorf("lines about it: got %d, want 1:\n%s", lines, &log)
				}
				cfg.Pool.Close()
				synctest.Wait()
				if got := m.Connections(); got != 0 {
					t.Errorf("connections: got %d, want none", got)
				}
			})
		})
	}
}

// TestBareSubscription: the same for the connection that listens.
func TestBareSubscription(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		var log strings.Builder
		var late atomic.Bool
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		cfg.Pool = wrapped(cfg.Pool, func(c redis.Conn) redis.Conn {
			if late.Load() {
				return bare{c.(redis.ConnWithTimeout)}
			}
			return c
		})
		n, d := started(t, cfg), new(diary)
		late.Store(true)
		n.Subscribe("a", d, 7)
		time.Sleep(10 * time.Second)
		d.want(t, "without a subscription")
		n.Close()
		cfg.Pool.Close()
		if lines := strings.Count(log.String(), "ConnWithContext"); lines != 1 {
			t.Errorf("lines about it: got %d, want 1:\n%s", lines, &log)
		}
	})
}
