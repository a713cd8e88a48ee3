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
)

func TestKillDropsConnectionsAndRefusesDials(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "SET", "k", "v")
		m.Kill()
		m.Kill()
		if _, err := c.Do("PING"); err == nil {
			t.Error("PING on a connection of a dead master: got no error")
		}
		if _, err := m.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Dial a dead master: got %v, want ECONNREFUSED", err)
		}
		if m.Alive() {
			t.Error("Alive after Kill: got true")
		}
	})
}

func TestKillBreaksWrites(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c, err := m.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m.Kill()
		if _, err := c.Write([]byte("PING")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Write: got %v, want EPIPE", err)
		}
		c.Close()
		if _, err := c.Write([]byte("PING")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Write after Close: got %v, want net.ErrClosed", err)
		}
	})
}

func TestKillForgetsWhatWasNotCarriedOut(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.Freeze()
		send(t, c, "SET", "k", "v")
		synctest.Wait()
		m.RestartWithData()
		synctest.Wait()
		if got := m.Keys(); len(got) > 0 {
			t.Errorf("keys after the restart: got %v, want none", got)
		}
	})
}

func TestRestartForgetsAll(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "SET", "k", "v")
		sha := do(t, c, "SCRIPT", "LOAD", "return 1").(string)
		before := info(t, c)
		m.Restart()
		c = dial(t, m)
		after := info(t, c)
		if got := m.Keys(); len(got) > 0 {
			t.Errorf("keys: got %v, want none", got)
		}
		if _, err := c.Do("EVALSHA", sha, 0); err == nil || !strings.HasPrefix(err.Error(), "NOSCRIPT ") {
			t.Errorf("EVALSHA: got %v, want NOSCRIPT", err)
		}
		for _, field := range []string{"run_id", "master_replid"} {
			if before[field] == after[field] || len(after[field]) != 40 {
				t.Errorf("%s: got %q, then %q, want another 40 digits", field, before[field], after[field])
			}
		}
		if after["uptime_in_seconds"] != "0" {
			t.Errorf("uptime_in_seconds: got %s, want 0", after["uptime_in_seconds"])
		}
	})
}

func TestRestartWithDataKeepsKeysWhoseTimeIsLeft(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "SET", "short", "v", "PX", 5000)
		do(t, c, "SET", "long", "v", "PX", 60_000)
		do(t, c, "HSET", "hash", "owner", 1)
		do(t, c, "PEXPIRE", "hash", 60_000)
		sha := do(t, c, "SCRIPT", "LOAD", "return 1")
		run := info(t, c)["run_id"]
		m.Kill()
		time.Sleep(10 * time.Second)
		m.RestartWithData()
		if got, want := m.Keys(), []string{"hash", "long"}; !slices.Equal(got, want) {
			t.Errorf("keys: got %v, want %v", got, want)
		}
		if got := m.TTL("long"); got != 50*time.Second {
			t.Errorf("TTL(long): got %v, want 50s", got)
		}
		c = dial(t, m)
		if got := do(t, c, "PTTL", "hash"); got != int64(50_000) {
			t.Errorf("PTTL hash: got %v, want 50000", got)
		}
		if _, err := c.Do("EVALSHA", sha, 0); err == nil {
			t.Error("EVALSHA: got no error, want NOSCRIPT")
		}
		if got := info(t, c)["run_id"]; got == run {
			t.Error("run_id did not change")
		}
	})
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
		send(t, fresh, "SET", "k", "v")
		time.Sleep(time.Hour)
		if got := m.Keys(); len(got) > 0 {
			t.Fatalf("keys while frozen: got %v, want none", got)
		}
		m.Thaw()
		synctest.Wait()
		if got, want := m.Keys(), []string{"k", "list"}; !slices.Equal(got, want) {
			t.Errorf("keys after thaw: got %v, want %v", got, want)
		}
		c = dial(t, m)
		list, err := redis.Ints(c.Do("LRANGE", "list", 0, -1))
		if err != nil || len(list) != 100 || !slices.IsSorted(list) {
			t.Errorf("LRANGE: got %v, %v, want 0 to 99 in order", list, err)
		}
	})
}

func TestFreezeLetsDeadlinesPass(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		m.Freeze()
		start := time.Now()
		_, err := redis.DoWithTimeout(c, 3*time.Second, "PING")
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("PING: got %v, want a timeout", err)
		}
		if netErr, ok := errors.AsType[net.Error](err); !ok || !netErr.Timeout() {
			t.Errorf("PING: got %#v, want a net.Error with Timeout", err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("PING took %v, want 3s", took)
		}
	})
}

func TestFreezeBuffersWrites(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c, err := m.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
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
