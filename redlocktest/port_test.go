package redlocktest

import (
	"errors"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

// eventually waits, in real time, until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10s", what)
		}
	}
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
	if again := f.URLs(); len(urls) != 2 || urls[0] == urls[1] || !slices.Equal(urls, again) {
		t.Errorf("URLs: got %v, then %v, want two, the same each time", urls, again)
	}
	c, m := dialURL(t, urls[0]), f.Master(0)
	do(t, c, "SET", "k", "v")
	if got, want := m.Keys(), []string{"k"}; !slices.Equal(got, want) || len(f.Master(1).Keys()) > 0 {
		t.Errorf("keys: got %v and %v, want %v and none", got, f.Master(1).Keys(), want)
	}
	u, err := url.Parse(urls[0])
	check.OK(t, err)
	check.Equal(t, info(t, c)["tcp_port"], u.Port(), "tcp_port")
}

func TestURLsKillAndRestart(t *testing.T) {
	f := Start(t, 1)
	m := f.Master(0)
	m.Kill()
	url := f.URLs()[0] // of a dead master
	for range 2 {
		if _, err := redis.DialURL(url); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("DialURL of a dead master: got %v, want ECONNREFUSED", err)
		}
		m.Restart()
		c := dialURL(t, url)
		do(t, c, "PING")
		m.Kill()
		if _, err := c.Do("PING"); err == nil {
			t.Error("PING on a connection of a dead master: got no error")
		}
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
			if _, err := redis.DoWithTimeout(c, 50*time.Millisecond, "SET", "k", 1); err == nil {
				t.Error("SET: got an answer")
			}
			c.Close()
			if got := m.Keys(); len(got) > 0 {
				t.Errorf("keys: got %v, want none", got)
			}
			fault.end()
			eventually(t, "both commands run", func() bool { return len(m.Keys()) == 2 })
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
	if err := take(); err != nil {
		t.Errorf("a connection from the port after Close: %v", err)
	}
}
