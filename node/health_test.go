package node

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

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
				got := sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
				wantErr(t, "first", got, script.Unsent, tt.reason)
				wantAt(t, "first", got, tt.after)
				for range 100 {
					time.Sleep(50 * time.Millisecond)
					got := sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
					wantErr(t, "later", got, script.Unsent, tt.reason)
					wantAt(t, "later", got, 0)
				}
			})
		})
	}
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

// TestMasterThatCannotServe: a master that can serve no lock is down, with its own words for a reason,
// until it can. What it refused to release is kept.
func TestMasterThatCannotServe(t *testing.T) {
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
				want(t, "acquire", sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Done)
				m.Refuse(refusal + ".") // which would end the list that it stands in
				wantErr(t, "release", sendAndWait(n, script.NewOwner("k", id("me:1")).Release(1, 0)), script.Failed, refusal)
				for range 50 {
					got := sendAndWait(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1))
					wantErr(t, "acquire while refusing", got, script.Unsent, refusal)
					wantAt(t, "acquire while refusing", got, 0)
					time.Sleep(100 * time.Millisecond)
				}
				m.Refuse("")
				waitUntil(t, lastRetry*3/2, n.isUp)
				wantHolder(t, m, "k", "")
				want(t, "acquire", sendAndWait(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1)), script.Done)
			})
		})
	}
}

// TestLoading: INFO tells of it, too, where a user may not PING.
func TestLoading(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
			if words == "PING" {
				return redis.Error("NOPERM this user has no permissions to run the 'ping' command")
			}
			return nil
		}})
		m.Refuse("LOADING Redis is loading the dataset in memory")
		n := start(t, cfg)
		wantErr(t, "acquire", sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Unsent, "loads its data from disk")
		m.Refuse("")
		waitUntil(t, lastRetry*3/2, n.isUp)
	})
}

// TestNoPermissionToPing: a user who may not PING keeps the connection.
func TestNoPermissionToPing(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
			if words == "PING" {
				return redis.Error("NOPERM this user has no permissions to run the 'ping' command")
			}
			return nil
		}})
		n := started(t, cfg)
		for range 20 {
			time.Sleep(time.Second)
			want(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Done)
			time.Sleep(2 * time.Second)
		}
		if got := m.Calls("CLIENT"); got != 1 { // CLIENT ID
			t.Errorf("handshakes: got %d, want 1", got)
		}
	})
}

// The bound follows what answers take: up at once, and down when they have been quick for a while.
func TestAnswerTime(t *testing.T) {
	var a answerTime
	if a.bound() != 0 {
		t.Errorf("bound = %v before any answer, want 0", a.bound())
	}
	steps := []struct {
		took        time.Duration
		times       int
		least, most time.Duration
	}{
		{10 * time.Millisecond, 1, 30 * time.Millisecond, 30 * time.Millisecond}, // nothing is known of its deviation
		{10 * time.Millisecond, 30, 10 * time.Millisecond, 11 * time.Millisecond},
		{300 * time.Millisecond, 1, 300 * time.Millisecond, 350 * time.Millisecond}, // a leap: the deviation tells of it
		{300 * time.Millisecond, 40, 295 * time.Millisecond, 310 * time.Millisecond},
		{10 * time.Millisecond, 60, 10 * time.Millisecond, 15 * time.Millisecond},
	}
	for _, s := range steps {
		for range s.times {
			a.add(s.took)
		}
		if got := a.bound(); got < s.least || got > s.most {
			t.Errorf("after %d answers in %v: bound = %v, want %v to %v", s.times, s.took, got, s.least, s.most)
		}
	}
}
