package redlocktest

import (
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

// The connections of a dead master break, and dials are refused.
func TestKill(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		raw, err := m.Dial(t.Context())
		check.OK(t, err)
		m.Kill()
		m.Kill()
		if _, err := c.Do("PING"); err == nil {
			t.Error("PING on a connection of a dead master: got no error")
		}
		if _, err := raw.Write([]byte("PING")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Write: got %v, want EPIPE", err)
		}
		raw.Close()
		if _, err := raw.Write([]byte("PING")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after Close: got %v, want net.ErrClosed", err)
		}
		if _, err := m.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) || m.Alive() {
			t.Errorf("Dial a dead master: got %v, want ECONNREFUSED; Alive: %t", err, m.Alive())
		}
	})
}

// A master that starts is another process, without scripts. It has all data whose time is left, or none, and
// nothing that its predecessor had not carried out.
func TestRestart(t *testing.T) {
	for name, tt := range map[string]struct {
		restart func(*Master)
		keys    []string
		left    int64 // of hash, in ms
	}{
		"empty":     {(*Master).Restart, nil, -2},
		"with data": {(*Master).RestartWithData, []string{"hash", "long"}, 50_000},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *Master) {
				c := dial(t, m)
				do(t, c, "SET", "short", "v", "PX", 5000)
				do(t, c, "SET", "long", "v", "PX", 60_000)
				do(t, c, "HSET", "hash", "owner", 1)
				do(t, c, "PEXPIRE", "hash", 60_000)
				sha := do(t, c, "SCRIPT", "LOAD", "return 1")
				before := info(t, c)
				m.Freeze()
				send(t, c, "SET", "late", "v")
				synctest.Wait()
				m.Kill()
				time.Sleep(10 * time.Second)
				tt.restart(m)
				synctest.Wait()
				c = dial(t, m)
				if got, left := m.Keys(), do(t, c, "PTTL", "hash"); !slices.Equal(got, tt.keys) || left != tt.left {
					t.Errorf("keys: got %v, and hash for %v, want %v and %d", got, left, tt.keys, tt.left)
				}
				refused(t, c, "NOSCRIPT ", "EVALSHA", sha, 0)
				after := info(t, c)
				for _, field := range []string{"run_id", "master_replid"} {
					if before[field] == after[field] || len(after[field]) != 40 {
						t.Errorf("%s: got %q, then %q, want another 40 digits", field, before[field], after[field])
					}
				}
				check.Equal(t, after["uptime_in_seconds"], "0", "uptime_in_seconds")
			})
		})
	}
}

func TestFrozenCommandRunsOnThawThoughClientClosed(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.Freeze()
		for i := range 100 {
			send(t, c, "RPUSH", "list", i)
		}
		c.Close()
		fresh := dial(t, m) // the kernel accepts connections for a frozen process
		start := time.Now()
		_, err := redis.DoWithTimeout(fresh, 3*time.Second, "SET", "k", "v")
		if netErr, ok := errors.AsType[net.Error](err); !errors.Is(err, os.ErrDeadlineExceeded) || !ok || !netErr.Timeout() {
			t.Errorf("SET: got %#v, want a net.Error with Timeout", err)
		}
		check.Equal(t, time.Since(start), 3*time.Second, "SET took")
		if got := m.Keys(); len(got) > 0 {
			t.Fatalf("keys while frozen: got %v, want none", got)
		}
		m.Thaw()
		synctest.Wait()
		list, err := redis.Ints(dial(t, m).Do("LRANGE", "list", 0, -1))
		if err != nil || len(list) != 100 || !slices.IsSorted(list) || m.Get("k") != "v" {
			t.Errorf("LRANGE: got %v, %v, and k = %q, want 0 to 99 in order, and v", list, err, m.Get("k"))
		}
	})
}

func TestFreezeBuffersWrites(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c, err := m.Dial(t.Context())
		check.OK(t, err)
		defer c.Close()
		m.Freeze()
		c.SetWriteDeadline(time.Now().Add(time.Second))
		// The rest is no command: how far the session reads ahead does not matter here.
		n, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n" + strings.Repeat("x", sendBuffer/2)))
		if err != nil {
			t.Errorf("Write of half the buffer: got %d, %v", n, err)
		}
		n, err = c.Write(make([]byte, sendBuffer))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n >= sendBuffer {
			t.Errorf("Write of more than the buffer: got %d, %v, want a part and a timeout", n, err)
		}
	})
}
