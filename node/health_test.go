package node

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestFirstCommand: it waits for the connection.
func TestFirstCommand(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		m.Delay(20 * time.Millisecond)
		n := start(t, cfg)
		got := call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
		want(t, "acquire", got, script.Done)
		// Two ways each: to dial, to ask, the script that is missing, the script.
		wantAt(t, "acquire", got, 8*20*time.Millisecond)
	})
}

// TestUnreachable: what waits for the first connection, waits no longer than for an
// answer. After that it does not wait at all.
func TestUnreachable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		fault  func(*redlocktest.Master)
		reason string
		after  time.Duration
	}{
		{"dead", (*redlocktest.Master).Kill, "connection refused", 0},
		{"cut off", (*redlocktest.Master).Cut, "no answer in time", timeout},
		{"frozen", (*redlocktest.Master).Freeze, "no answer in time", timeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				tt.fault(m)
				n := start(t, cfg)
				got := call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
				wantErr(t, "first", got, script.Unsent, tt.reason)
				wantAt(t, "first", got, tt.after)
				for range 100 {
					time.Sleep(50 * time.Millisecond)
					got := call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
					wantErr(t, "later", got, script.Unsent, tt.reason)
					wantAt(t, "later", got, 0)
				}
			})
		})
	}
}

// TestKilled: the commands under way are Unknown at once, and those after them Unsent.
func TestKilled(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Freeze()
		acquired := send(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
		synctest.Wait()
		m.Kill()
		wantErr(t, "under way", acquired.wait(), script.Unknown, "connection closed by the master")
		wantAt(t, "under way", acquired.look(), 0)
		got := call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
		wantErr(t, "next", got, script.Unsent, "connection refused")
		wantAt(t, "next", got, 0)
	})
}

// TestReturnIsNoticed: a master that comes back is up again within 0.75 s, however long
// it was away.
func TestReturnIsNoticed(t *testing.T) {
	for away := time.Second; away < time.Hour; away = away * 5 / 3 {
		t.Run(fmt.Sprint("after ", away), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				m.Kill()
				time.Sleep(3*time.Second + away)
				m.Restart()
				until(t, lastRetry*3/2, n.isUp)
				want(t, "inspect", call1(n, script.Inspect("k")), script.Done)
			})
		})
	}
}

// TestShortAbsence: a master that was up for a while is probed often again when it goes,
// even if it took its time the last time.
func TestShortAbsence(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Kill()
		time.Sleep(10 * time.Second)
		m.Restart()
		until(t, time.Second, n.isUp)
		time.Sleep(2 * heartbeat)
		m.Kill()
		until(t, 3*heartbeat, n.isDown)
		m.Restart()
		until(t, 2*firstRetry, n.isUp)
	})
}

// TestProbes: a master that is away is not pestered.
func TestProbes(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.Refuse("MISCONF no disk")
		until(t, 3*time.Second, n.isDown)
		time.Sleep(10 * time.Second)
		before := m.Calls("INFO")
		time.Sleep(10 * time.Second)
		if got := m.Calls("INFO") - before; got < 10 || got > 40 {
			t.Errorf("handshakes in 10 s: got %d, want about 20", got)
		}
	})
}

// TestHeartbeat: a connection that breaks while nobody uses it is replaced before the
// next command comes.
func TestHeartbeat(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(*redlocktest.Master)
	}{
		{"restart", (*redlocktest.Master).RestartWithData},
		{"network", func(m *redlocktest.Master) {
			m.Delay(time.Hour)
			time.Sleep(2 * heartbeat) // a beat is on its way and never comes
			m.Delay(0)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				tt.fault(m)
				time.Sleep(2*heartbeat + timeout)
				got := call1(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
				want(t, "acquire", got, script.Done)
				wantAt(t, "acquire", got, 0)
			})
		})
	}
}

// TestIdleConnection: a connection that works stays, whether it is used or not.
func TestIdleConnection(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		time.Sleep(time.Hour)
		want(t, "inspect", call1(n, script.Inspect("k")), script.Done)
		if got := m.Calls("CLIENT"); got != 1 { // CLIENT ID
			t.Errorf("handshakes: got %d, want 1", got)
		}
	})
}

// The log says once why a master cannot be used, however long it takes to find that out each time,
// and whatever else its reason says.
func TestReasonIsLoggedOnce(t *testing.T) {
	for name, dial := range map[string]func(context.Context) (redis.Conn, error){
		"slow refusal": func(context.Context) (redis.Conn, error) {
			time.Sleep(80 * time.Millisecond) // TCP, TLS and AUTH are some round trips
			return nil, redis.Error("WRONGPASS invalid username-password pair")
		},
		"expired certificate": func(context.Context) (redis.Conn, error) { return nil, expired(time.Now().String()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				n := New(Config{
					Name: "m1", Timeout: 50 * time.Millisecond,
					Pool:   &redis.Pool{DialContext: dial},
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				time.Sleep(time.Minute)
				n.Close()
				if got := strings.Count(log.String(), "WARN"); got < 1 || got > 2 { // down, and why
					t.Errorf("%d warnings in a minute, want one or two:\n%.1000s", got, log.String())
				}
			})
		})
	}
}
