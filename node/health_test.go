package node

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
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
		subtest(t, tt.name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			tt.fault(m)
			n := start(t, cfg)
			got := sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
			wantErr(t, "first", got, script.Unsent, tt.reason)
			check.Equal(t, got.after, tt.after, "first: answered after")
			for range 100 {
				time.Sleep(50 * time.Millisecond)
				got := sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1))
				wantErr(t, "later", got, script.Unsent, tt.reason)
				check.Equal(t, got.after, 0, "later: answered after")
			}
		})
	}
}

// The log says once why a master cannot be used, however long it takes to find that out each time,
// and whatever else its reason says.
func TestReasonIsLoggedOnce(t *testing.T) {
	for _, tt := range []struct {
		name     string
		dial     func(context.Context) error
		warnings int
	}{
		{"slow refusal", func(ctx context.Context) error {
			select {
			case <-time.After(timeout + 80*time.Millisecond): // TCP, TLS and AUTH are some round trips
			case <-ctx.Done():
			}
			return redis.Error("WRONGPASS invalid username-password pair")
		}, 2}, // down, and why
		{"expired certificate", func(context.Context) error {
			return &tls.CertificateVerificationError{Err: errors.New("x509: certificate has expired or is not yet valid: current time " + time.Now().String())}
		}, 1},
	} {
		subtest(t, tt.name, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			log := logged(&cfg)
			cfg.Pool = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) { return nil, tt.dial(ctx) }}
			start(t, cfg)
			time.Sleep(time.Minute)
			log.want(t, tt.warnings, "WARN")
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
		subtest(t, code, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			n := started(t, cfg)
			want(t, "acquire", sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Done)
			m.Refuse(refusal + ".") // which would end the list that it stands in
			wantErr(t, "release", sendAndWait(n, script.NewOwner("k", id("me:1")).Release(1, 0)), script.Failed, refusal)
			for range 50 {
				got := sendAndWait(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1))
				wantErr(t, "acquire while refusing", got, script.Unsent, refusal)
				check.Equal(t, got.after, 0, "acquire while refusing: answered after")
				time.Sleep(100 * time.Millisecond)
			}
			m.Refuse("")
			waitUntil(t, lastRetry*3/2, n.isUp)
			wantHolder(t, m, "k", "")
			want(t, "acquire", sendAndWait(n, script.NewOwner("k", id("me:2")).Acquire(lease, 1)), script.Done)
		})
	}
}

// TestLoading: it is found out also where the user may not PING, which keeps the connection even so.
func TestLoading(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = bent.Reply(cfg.Pool, "PING", redis.Error("NOPERM this user has no permissions to run the 'ping' command"))
		m.Refuse("LOADING Redis is loading the dataset in memory")
		n := start(t, cfg)
		wantErr(t, "acquire", sendAndWait(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1)), script.Unsent, "LOADING")
		m.Refuse("")
		waitUntil(t, lastRetry*3/2, n.isUp)
		handshakes := m.Calls("CLIENT") // CLIENT INFO
		time.Sleep(20 * time.Second)
		check.Equal(t, m.Calls("CLIENT"), handshakes, "handshakes afterwards")
	})
}

// The bound follows what answers take: up at once, and down when they have been quick for a while.
func TestAnswerTime(t *testing.T) {
	var a answerTime
	check.Equal(t, a.bound(), 0, "the bound before any answer")
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
		check.Between(t, a.bound(), s.least, s.most, "the bound after %d answers in %v", s.times, s.took)
	}
}

// A client that gives commands long gives the handshake as long: a master whose answers take less is never down.
func TestLongTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		m.Delay(server.FirstPatience / 4 * 3) // there and back
		cfg.Timeout = 10 * server.FirstPatience
		want(t, "the first command", sendAndWait(start(t, cfg), script.Inspect("k")), script.Done)
	})
}
