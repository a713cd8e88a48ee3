package fleet

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

// wantError wants that a command is refused with a reply that begins with prefix.
func wantError(t *testing.T, m *Master, prefix, command string, args ...any) {
	t.Helper()
	if reply, err := m.Do(command, args...); err == nil || !strings.HasPrefix(err.Error(), prefix) {
		t.Errorf("%s %v = %v, %v, want the error %s", command, args, reply, err, prefix)
	}
}

// TestHarm: each act on a server that goes on does what tests and trials rely on.
func TestHarm(t *testing.T) {
	t.Parallel()
	m := one(t, Config{})
	for _, tt := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"flush", func(t *testing.T) {
			did(t, m.Flush())
			check.Equal[any](t, do(t, m, "DBSIZE"), int64(0), "DBSIZE")
		}},
		{"flush scripts", func(t *testing.T) {
			hash := do(t, m, "SCRIPT", "LOAD", "return 1")
			do(t, m, "EVALSHA", hash, 0)
			did(t, m.FlushScripts())
			wantError(t, m, "NOSCRIPT", "EVALSHA", hash, 0)
		}},
		{"kill clients", func(t *testing.T) {
			client, subscriber := dial(t, m), dial(t, m)
			_, err := client.Do("PING")
			did(t, err)
			_, err = subscriber.Do("SUBSCRIBE", "channel")
			did(t, err)
			did(t, m.KillClients())
			if _, err := client.Do("PING"); err == nil {
				t.Error("the connection of a client still works")
			}
			if reply, err := redis.ReceiveWithTimeout(subscriber, patience); !errors.Is(err, io.EOF) {
				t.Errorf("the connection of a subscriber still works: %v, %v", reply, err)
			}
		}},
		{"demote and promote", func(t *testing.T) {
			did(t, m.Demote())
			wantError(t, m, "READONLY", "SET", "key", "changed")
			if err := m.Evict(); err == nil || err.Error() != "evict keys of m1: it evicts nothing" {
				t.Errorf("Evict of a replica = %v", err)
			}
			did(t, m.Drain())
			did(t, m.Promote())
			if got, err := redis.String(m.Do("GET", "key")); got != "value" {
				t.Errorf("GET = %q, %v, want what was there", got, err)
			}
			do(t, m, "SET", "key", "changed")
		}},
		{"fill and drain", func(t *testing.T) {
			did(t, m.Fill())
			wantError(t, m, "OOM", "SET", "other", "value")
			check.Equal[any](t, do(t, m, "DBSIZE"), int64(1), "DBSIZE")
			did(t, m.Drain())
			do(t, m, "SET", "other", "value")
		}},
		{"evict and drain", func(t *testing.T) {
			store := func(n int) (stored int) {
				for i := range n {
					if _, err := m.Do("HSET", fmt.Sprint("orders:", i), "owner", 1); err == nil {
						stored++
					}
				}
				return stored
			}
			const many = 100
			store(many)
			before := number(t, m, "evicted_keys")
			for range 5 {
				did(t, m.Evict())
				now := number(t, m, "evicted_keys")
				if now == before {
					t.Error("no key is gone when Evict returns")
				}
				before = now
				if stored := store(many); stored < many {
					t.Errorf("after Evict, %d of %d keys were stored", stored, many)
				}
			}
			did(t, m.Drain())
			if policy, err := configured(dial(t, m), "maxmemory-policy"); err != nil || policy != "noeviction" {
				t.Errorf("the policy is %v, %v after Drain", policy, err)
			}
		}},
		{"occupy", func(t *testing.T) {
			const d = 200 * time.Millisecond
			conn := dial(t, m)
			var refused error
			for range 20 { // what the server reads together with the script, it may carry out before
				var done atomic.Bool
				var acted error
				var wg sync.WaitGroup
				wg.Go(func() {
					for !done.Load() && refused == nil {
						_, refused = conn.Do("SET", "key", "changed")
					}
				})
				wg.Go(func() {
					for !done.Load() && acted == nil {
						acted = m.FlushScripts() // waits for its turn
					}
				})
				began := time.Now()
				err := m.Occupy(d)
				took := time.Since(began)
				done.Store(true)
				wg.Wait()
				if err != nil || acted != nil || took < d {
					t.Fatalf("Occupy = %v after %v, and another act = %v", err, took, acted)
				}
				if refused != nil {
					break
				}
			}
			if refused == nil || !strings.HasPrefix(refused.Error(), "BUSY") {
				t.Errorf("SET = %v, want BUSY", refused)
			}
			if limit, err := configured(conn, "lua-time-limit"); limit != "5000" || err != nil {
				t.Errorf("lua-time-limit is %s, %v afterwards", limit, err)
			}
			do(t, m, "SET", "key", "changed")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			do(t, m, "FLUSHALL")
			do(t, m, "SET", "key", "value")
			tt.test(t)
		})
	}
}

// TestKeys: what is left on a master.
func TestKeys(t *testing.T) {
	t.Parallel()
	m := one(t, Config{})
	do(t, m, "SET", "string", strings.Repeat("x", 1000))
	do(t, m, "HSET", "hash", "owner", 1)
	do(t, m, "ZADD", "zset", 7, "a")
	do(t, m, "SADD", "set", "a")
	keys, err := m.Keys()
	did(t, err)
	want := map[string]string{
		"string": `string -1 "` + strings.Repeat("x", 189),
		"hash":   `hash -1 ["owner","1"]`,
		"zset":   `zset -1 ["a","7"]`,
		"set":    "set -1",
	}
	if !maps.Equal(keys, want) {
		t.Errorf("Keys = %q, want %q", keys, want)
	}
	do(t, m, "PEXPIRE", "hash", 100_000)
	if keys, err = m.Keys(); err != nil || strings.HasPrefix(keys["hash"], "hash -1") {
		t.Errorf("Keys = %q, %v, want what is left of 100000 ms", keys, err)
	}
}
