package redlocktest

import (
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/link"
)

// The connections of a dead master break, and dials are refused.
func TestKill(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		raw, err := m.Dial(t.Context())
		check.OK(t, err)
		m.Kill()
		m.Kill()
		check.That(t, second(c.Do("PING")) != nil, "PING on a connection of a dead master: got no error")
		check.Err(t, "Write", second(raw.Write([]byte("PING"))), syscall.EPIPE)
		raw.Close()
		check.Err(t, "Write after Close", second(raw.Write([]byte("PING"))), net.ErrClosed)
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
				got, left := m.Keys(), do(t, c, "PTTL", "hash")
				check.That(t, slices.Equal(got, tt.keys) && left == tt.left, "keys: got %v, and hash for %v, want %v and %d", got, left, tt.keys, tt.left)
				refused(t, c, "NOSCRIPT ", "EVALSHA", sha, 0)
				after := info(t, c)
				for _, field := range []string{"run_id", "master_replid"} {
					check.That(t, before[field] != after[field] && len(after[field]) == 40, "%s: got %q, then %q, want another 40 digits", field, before[field], after[field])
				}
				check.Equal(t, after["uptime_in_seconds"], "0", "uptime_in_seconds")
			})
		})
	}
}

func TestFreezeBuffersWrites(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c, err := m.Dial(t.Context())
		check.OK(t, err)
		defer c.Close()
		m.Freeze()
		c.SetWriteDeadline(time.Now().Add(time.Second))
		// The rest is no command: how far the session reads ahead does not matter here.
		n, err := c.Write([]byte("*1\r\n$4\r\nPING\r\n" + strings.Repeat("x", link.SendBuffer/2)))
		check.That(t, err == nil, "Write of half the buffer: got %d, %v", n, err)
		n, err = c.Write(make([]byte, link.SendBuffer))
		check.That(t, errors.Is(err, os.ErrDeadlineExceeded) && n != 0 && n < link.SendBuffer, "Write of more than the buffer: got %d, %v, want a part and a timeout", n, err)
	})
}

func dialURL(t *testing.T, url string) redis.Conn {
	t.Helper()
	c, err := redis.DialURL(url)
	check.OK(t, err, "DialURL(%s)", url)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestURLs(t *testing.T) {
	f := Start(t, 2)
	urls := f.URLs()
	again := f.URLs()
	check.That(t, len(urls) == 2 && urls[0] != urls[1] && slices.Equal(urls, again), "URLs: got %v, then %v, want two, the same each time", urls, again)
	c, m := dialURL(t, urls[0]), f.Master(0)
	do(t, c, "SET", "k", "v")
	got, want := m.Keys(), []string{"k"}
	check.That(t, slices.Equal(got, want) && len(f.Master(1).Keys()) == 0, "keys: got %v and %v, want %v and none", got, f.Master(1).Keys(), want)
}

func TestURLsKillAndRestart(t *testing.T) {
	f := Start(t, 1)
	m := f.Master(0)
	m.Kill()
	url := f.URLs()[0] // of a dead master
	for range 2 {
		check.Err(t, "DialURL of a dead master", second(redis.DialURL(url)), syscall.ECONNREFUSED)
		m.Restart()
		c := dialURL(t, url)
		do(t, c, "PING")
		m.Kill()
		check.That(t, second(c.Do("PING")) != nil, "PING on a connection of a dead master: got no error")
	}
}

func TestURLsFreezeAndCut(t *testing.T) {
	f := Start(t, 1)
	m, url := f.Master(0), f.URLs()[0]
	for _, fault := range []struct {
		name       string
		begin, end func()
	}{
		{"Freeze", m.Freeze, m.Thaw},
		{"Cut", m.Cut, m.Mend},
	} {
		t.Run(fault.name, func(t *testing.T) {
			m.FlushAll()
			c := dialURL(t, url)
			do(t, c, "PING")
			fault.begin()
			late := dialURL(t, url) // the kernel answers
			send(t, late, "SET", "late", 1)
			check.That(t, second(redis.DoWithTimeout(c, 50*time.Millisecond, "SET", "k", 1)) != nil, "SET: got an answer")
			c.Close()
			check.Equal(t, len(m.Keys()), 0, "keys")
			fault.end()
			check.Eventually(t, "both commands run", func() bool { return len(m.Keys()) == 2 })
		})
	}
}

// TestURLsOfTheDead: nobody else is given the port of a dead master, and after Close it is free.
func TestURLsOfTheDead(t *testing.T) {
	f, other := Start(t, 1), Start(t, 1)
	m := f.Master(0)
	addr, err := net.ResolveTCPAddr("tcp", strings.TrimPrefix(f.URLs()[0], "redis://"))
	check.OK(t, err)
	from := net.Dialer{LocalAddr: addr}
	take := func() error {
		conn, err := from.Dial("tcp", strings.TrimPrefix(other.URLs()[0], "redis://"))
		if err == nil {
			conn.Close()
		}
		return err
	}
	m.Kill()
	if err := take(); !errors.Is(err, syscall.EADDRINUSE) && runtime.GOOS != "windows" {
		t.Errorf("a connection from the port of a dead master: got %v, want EADDRINUSE", err)
	}
	m.RestartWithData()
	m.Kill()
	f.Close()
	check.OK(t, take(), "a connection from the port after Close")
}
