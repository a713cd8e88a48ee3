package node

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestUnfit: a master that can serve no lock is down, with its own words for a reason,
// until it can. What it refused to release is owed.
func TestUnfit(t *testing.T) {
	for _, refusal := range []string{
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica",
		"MISCONF Errors writing to the AOF file: No space left on device",
		"BUSY Redis is busy running a script",
		"NOREPLICAS Not enough good replicas to write",
		"MASTERDOWN Link with MASTER is down",
	} {
		code, _, _ := strings.Cut(refusal, " ")
		t.Run(code, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "acquire", call1(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Done)
				m.Refuse(refusal + ".") // which would end the list that it stands in
				wantErr(t, "release", call1(n, script.NewOwner("k", id("me:1")).Release(1, 0)), script.Failed, refusal)
				for range 50 {
					got := call1(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1))
					wantErr(t, "acquire while refusing", got, script.Unsent, refusal)
					wantAt(t, "acquire while refusing", got, 0)
					time.Sleep(100 * time.Millisecond)
				}
				m.Refuse("")
				until(t, lastRetry*3/2, n.isUp)
				wantHolder(t, m, "k", "")
				want(t, "acquire", call1(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1)), script.Done)
			})
		})
	}
}

// TestLoading: INFO tells of it, too, where a user may not PING.
func TestLoading(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
			if words == "PING" {
				return redis.Error("NOPERM this user has no permissions to run the 'ping' command")
			}
			return nil
		}})
		m.Refuse("LOADING Redis is loading the dataset in memory")
		n := start(t, cfg)
		wantErr(t, "acquire", call1(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Unsent, "loads its data from disk")
		m.Refuse("")
		until(t, lastRetry*3/2, n.isUp)
	})
}

// TestUnfitNoticedWhenIdle: the heartbeat finds out.
func TestUnfitNoticedWhenIdle(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Refuse("MISCONF no disk")
		until(t, 2*heartbeat, n.isDown)
		wantErr(t, "acquire", call1(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Unsent, "MISCONF no disk")
	})
}

// TestFailedIsNotUnfit: other errors concern one command only.
func TestFailedIsNotUnfit(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Set("text", "text")
		text := send(n, script.NewOwner("text", id("me:1")).Acquire(lease, 1))
		release := send(n, script.NewOwner("text", id("me:1")).Release(1, 0))
		next := send(n, script.Inspect("k"))
		wantErr(t, "acquire", text.wait(), script.Failed, "holds a string")
		wantErr(t, "release", release.wait(), script.Failed, "of another type")
		want(t, "next", next.wait(), script.Done)
		if !n.isUp() || n.debts() > 0 {
			t.Errorf("after WRONGTYPE: got up %v, %d debts, want true, none", n.isUp(), n.debts())
		}
	})
}

// TestNoPermissionToPing: a user who may not PING can not keep a connection otherwise.
func TestNoPermissionToPing(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
			if words == "PING" {
				return redis.Error("NOPERM this user has no permissions to run the 'ping' command")
			}
			return nil
		}})
		n := started(t, cfg)
		for range 20 {
			time.Sleep(time.Second)
			want(t, "inspect", call1(n, script.Inspect("k")), script.Done)
			time.Sleep(2 * time.Second)
		}
		if got := m.Calls("CLIENT"); got != 1 { // CLIENT ID
			t.Errorf("handshakes: got %d, want 1", got)
		}
	})
}

// TestNoPassword: what the handshake is refused with is the reason, too.
func TestNoPassword(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		m.Password("secret")
		n := start(t, cfg)
		wantErr(t, "inspect", call1(n, script.Inspect("k")), script.Unsent, "NOAUTH Authentication required")
		m.Password("")
		until(t, lastRetry*3/2, n.isUp)
	})
}

// TestGarbage: a reply that is none of the script's is the failure of that command.
func TestGarbage(t *testing.T) {
	for i, garbage := range []any{"OK", int64(7), []byte("x"), []any{}, []any{int64(1), int64(2)}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
					if strings.Contains(words, script.Inspect("k").SHA()) {
						return garbage
					}
					return nil
				}})
				n := started(t, cfg)
				wantErr(t, "inspect", call1(n, script.Inspect("k")), script.Failed, "unexpected reply")
				want(t, "acquire", call1(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Done)
			})
		})
	}
}
