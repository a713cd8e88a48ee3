package redlocktest

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A wire that is cut in one direction holds back only that, and nobody else's.
func TestWireIsCutOneWay(t *testing.T) {
	for _, way := range []struct {
		name        string
		there, back bool
		arrives     bool
	}{
		{"there", true, false, false},
		{"back", false, true, true},
		{"both", true, true, false},
	} {
		t.Run(way.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *Master) {
				w := m.Wire()
				c, other := dial(t, w), dial(t, m)
				w.Cut(way.there, way.back)
				send(t, c, "SET", "k", 1)
				synctest.Wait()
				if got := m.Get("k") == "1"; got != way.arrives {
					t.Errorf("SET arrived: %v, want %v", got, way.arrives)
				}
				if _, err := redis.ReceiveWithTimeout(c, time.Second); err == nil {
					t.Error("an answer came")
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := w.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Dial = %v, want the end of its context", err)
				}
				do(t, other, "PING")
				w.Cut(false, false)
				synctest.Wait()
				if m.Get("k") != "1" {
					t.Error("SET did not arrive once the wire was mended")
				}
				dial(t, w)
			})
		})
	}
}

// What is sent over a wire takes as long as its lag says, each way, and arrives in order.
func TestWireLags(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		w := m.Wire()
		c := dial(t, w)
		lags := []time.Duration{300 * time.Millisecond, 0, 20 * time.Millisecond, 20 * time.Millisecond}
		w.Lag(func() time.Duration {
			lag := lags[0]
			lags = lags[1:]
			return lag
		})
		start := time.Now()
		send(t, c, "RPUSH", "l", 1)
		send(t, c, "RPUSH", "l", 2) // it overtakes nothing
		for want := range int64(2) {
			if got, err := redis.Int64(c.Receive()); err != nil || got != want+1 {
				t.Errorf("Receive = %v, %v, want %d", got, err, want+1)
			}
		}
		if got, want := time.Since(start), 320*time.Millisecond; got != want {
			t.Errorf("answers after %v, want %v", got, want)
		}
		w.Lag(nil)
		start = time.Now()
		do(t, c, "PING")
		if got := time.Since(start); got != 0 {
			t.Errorf("PING without lag took %v", got)
		}
	})
}

// A reset ends the connections of one wire at both ends, and CLIENT KILL those of all.
func TestConnectionsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		w := m.Wire()
		c, other := dial(t, w), dial(t, m)
		do(t, c, "PING")
		m.Freeze()
		send(t, c, "SET", "k", 1)
		synctest.Wait()
		w.Reset()
		m.Thaw()
		if _, err := c.Receive(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Receive = %v, want ECONNRESET", err)
		}
		do(t, other, "PING")
		synctest.Wait()
		if got := m.Connections(); got != 1 {
			t.Errorf("%d connections are left, want 1", got)
		}
		again := dial(t, w)
		do(t, again, "PING")
		m.KillClients()
		for _, c := range []redis.Conn{other, again} {
			if _, err := c.Do("PING"); err == nil {
				t.Error("PING on a killed connection: no error")
			}
		}
		do(t, dial(t, m), "PING")
		m.Kill()
		m.KillClients()
	})
}

// A full master refuses what takes memory, but not a script that has changed something.
func TestFill(t *testing.T) {
	bubble(t, func(t *testing.T, m *Master) {
		c := dial(t, m)
		do(t, c, "SET", "k", 1)
		m.Fill(true)
		refused(t, c, "OOM ", "SET", "l", 1)
		refused(t, c, "OOM ", "EVAL", "return redis.call('set', 'l', '1')", 0)
		if got := do(t, c, "GET", "k"); got != "1" {
			t.Errorf("GET = %v", got)
		}
		do(t, c, "EVAL", "redis.call('del', 'k') return redis.call('set', 'l', '1')", 0)
		m.Fill(false)
		do(t, c, "SET", "l", 2)
	})
}
