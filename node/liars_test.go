package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// speaking returns a pool of connections with a framing, whose other end say has. It hangs up when that returns.
func speaking(t *testing.T, say func(net.Conn)) *redis.Pool {
	t.Helper()
	return dialing(t, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			say(far)
		}()
		return pipeEnd{near}, nil
	})
}

// pipeEnd is an end of a pipe that takes deadlines when the other end is closed, as a socket does.
type pipeEnd struct{ net.Conn }

func (p pipeEnd) SetReadDeadline(t time.Time) error {
	_ = p.Conn.SetReadDeadline(t)
	return nil
}

// dialing returns a pool whose connections dial makes.
func dialing(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error)) *redis.Pool {
	t.Helper()
	pool, _, err := Dialer{Dial: dial}.Pool("m1")
	check.OK(t, err)
	return pool
}

// TestLastWords: what a master says before it hangs up is the reason, to callers, in the log and to doctor.
func TestLastWords(t *testing.T) {
	for _, tt := range []struct {
		name, says, want string
		heals            bool
		about            string
	}{
		{"too many clients", "-ERR max number of clients reached\r\n", "ERR max number of clients reached", true, "max-clients"},
		{
			"protected mode", "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. " + strings.Repeat("In this mode … ", 50) + "\r\n",
			"DENIED Redis is running in protected mode because", false, "protected-mode",
		},
		{"half a line", "-ERR max number of cl", `connection closed by the master while it said a string of 20 bytes, "ERR max number of cl"`, true, "reachable"},
		{"half a reply", "$100\r\nabc", "connection closed by the master within a reply", true, "reachable"},
		{"nothing", "", errHungUpFirst.Error(), true, "tls"},
	} {
		subtest(t, tt.name, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			cfg.Pool = speaking(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, tt.says)
			})
			log := logged(&cfg)
			n := start(t, cfg)
			got := sendAndWait(n, script.Inspect("k"))
			wantErr(t, "inspect", got, script.Unsent, tt.want)
			check.That(t, Heals(got.Err) == tt.heals && len(n.Error(got.Err).Error()) <= 500, "Heals(%v): got %v, want %v, in few words", got.Err, Heals(got.Err), tt.heals)
			time.Sleep(10 * time.Second)
			if want := "master is down"; tt.heals {
				log.want(t, 1, want)
			}
			f := probed(t.Context(), cfg)
			if !contains(f.Err, tt.want) || About(f.Err) != tt.about || f.Reached {
				t.Errorf("probe: got %v, about %q, reached %v; want %q, about %q", f.Err, About(f.Err), f.Reached, tt.want, tt.about)
			}
		})
	}
}

// TestNoRoomForTheScripts: a master that reads no further than its greeting is given up, and tried again.
func TestNoRoomForTheScripts(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		const info = "$23\r\nrun_id:a\r\nrole:master\r\n\r\n"
		missing := len(loads(t))
		greeted := info + info + "+id=7\r\n+PONG\r\n*2\r\n:1795717027\r\n:1\r\n" +
			fmt.Sprintf("*%d\r\n", missing) + strings.Repeat(":0\r\n", missing)
		var dialed atomic.Int32
		cfg.Pool = speaking(t, func(conn net.Conn) {
			dialed.Add(1)
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, greeted)
			_, _ = io.WriteString(conn, "+\r\n") // which nobody reads: it waits for the end of the connection
		})
		n := start(t, cfg)
		time.Sleep(10 * time.Second)
		wantErr(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Unsent, ErrTimeout.Error())
		check.AtLeast(t, dialed.Load(), 3, "connections in 10 s")
	})
}

// TestKnownPort: a port on which the master has answered before needs no other scheme.
func TestKnownPort(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hangsUp atomic.Bool
		cfg.Pool = dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			if hangsUp.Load() {
				near, far := net.Pipe()
				go func() {
					_, _ = far.Read(make([]byte, 4096))
					far.Close()
				}()
				return pipeEnd{near}, nil
			}
			return m.Dial(ctx)
		})
		n := started(t, cfg)
		hangsUp.Store(true)
		m.KillClients()
		time.Sleep(2 * time.Second)
		check.Equal(t, n.Ready(), errHungUp, "Ready")
	})
}

// TestErrorsOfFunctionsOfTheCaller: they are passed on in their own words, whatever they match, and heal.
func TestErrorsOfFunctionsOfTheCaller(t *testing.T) {
	blocked := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("vault: %w", ctx.Err())
	}
	says := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for name, f := range map[string]func(context.Context) error{
		"end of file":             says(fmt.Errorf("vault: %w", io.EOF)),
		"deadline":                says(fmt.Errorf("vault: %w", context.DeadlineExceeded)),
		"its certificate":         says(fmt.Errorf("vault: %w", &tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")})),
		"a refusal":               says(fmt.Errorf("vault: %w", redis.Error("NOPERM no"))),
		"an error of package net": says(fmt.Errorf("vault: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("x")})),
		"no answer in time":       blocked,
	} {
		for what, dialer := range map[string]Dialer{
			noCredentials: {Credentials: func(ctx context.Context, _ string) (string, string, error) { return "", "", f(ctx) }},
			noConnection:  {Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, f(ctx) }},
		} {
			subtest(t, name+", "+what, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
				var err error
				if cfg.Pool, _, err = dialer.Pool("m1"); err != nil {
					t.Fatal(err)
				}
				n := start(t, cfg)
				time.Sleep(5 * time.Second)
				got := n.Ready()
				if !contains(got, what) || !contains(got, "vault: ") || !Heals(got) || Remedy(got) == "" {
					t.Errorf("Ready: got %v, which heals: %v; want what the function said, and that it does", got, Heals(got))
				}
				check.Equal(t, errors.Is(got, context.DeadlineExceeded) || errors.Is(got, context.Canceled), false, "%v matches the error of a context", got)
				check.Equal(t, errors.Is(got, ErrTimeout), name == "no answer in time", "%v is a timeout", got)
				check.Says(t, probed(t.Context(), cfg).Err, "vault: ", "probe")
			})
		}
	}
}

// TestNoMaster: a Sentinel, a node of a cluster and a Redis that is too old answer much as a master does, and are refused by
// name, before they are asked for anything.
func TestNoMaster(t *testing.T) {
	for _, tt := range []struct {
		info  string
		want  error
		about string
	}{
		{"redis_version:7.0.15\r\nredis_mode:sentinel\r\nrun_id:a\r\nuptime_in_seconds:99999\r\n", errSentinel, "role"},
		{"redis_version:6.0.16\r\nrun_id:a\r\nuptime_in_seconds:99999\r\n", &VersionError{"6.0.16"}, "version"},
		{"redis_version:7.2.5\r\nredis_mode:cluster\r\nrun_id:a\r\nuptime_in_seconds:99999\r\nrole:master\r\n", errCluster, "cluster"},
		{"redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nserver_mode:cluster\r\nrun_id:a\r\nuptime_in_seconds:99999\r\nrole:master\r\n", errCluster, "cluster"},
	} {
		subtest(t, tt.want.Error(), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			wanted := func(err error) bool { return reflect.DeepEqual(err, tt.want) }
			cfg.Pool = withReply(cfg.Pool, "INFO", []byte(tt.info))
			log := logged(&cfg)
			n := start(t, cfg)
			got := sendAndWait(n, script.Inspect("k"))
			if got.Outcome != script.Unsent || !wanted(got.Err) || !wanted(n.Ready()) || Heals(got.Err) {
				t.Errorf("inspect: got %v (%v), which heals: %v; want %v, for good", got.Outcome, got.Err, Heals(got.Err), tt.want)
			}
			time.Sleep(10 * time.Second)
			log.want(t, 1, "master is refused", tt.want.Error())
			check.Equal(t, scriptCalls(m), 0, "scripts that it was sent")
			if t.Failed() {
				return // a probe of what is no master would go on
			}
			f := probed(t.Context(), cfg)
			check.That(t, wanted(f.Err) && About(f.Err) == tt.about, "probe: got %v, about %q; want %v, about %q", f.Err, About(f.Err), tt.want, tt.about)
		})
	}
}

// TestPingWithoutPong: who answers PING with anything else answers something else than what it was asked.
func TestPingWithoutPong(t *testing.T) {
	for _, reply := range []any{"OK", []byte("PANG"), int64(1), []any{[]byte("pong"), []byte("")}} {
		subtest(t, fmt.Sprintf("%q", reply), func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			var lies atomic.Bool
			cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
				if words == "PING" && lies.Load() {
					return reply
				}
				return nil
			}})
			n := started(t, cfg)
			lies.Store(true)
			time.Sleep(5 * time.Second)
			got := n.Ready()
			check.That(t, errors.Is(got, errReply) && contains(got, "PING"), "Ready: got %v, want that its PING is wrong", got)
			lies.Store(false)
			waitUntil(t, time.Second, n.isUp)
		})
	}
}

// TestUnaskedReply: a reply that nobody asked for is not written out, however long it is.
func TestUnaskedReply(t *testing.T) {
	withNode(t, func(t *testing.T, _ *redlocktest.Master, n *Node) {
		n.mu.Lock()
		defer n.mu.Unlock()
		l := n.link
		reply := slices.Repeat([]any{[]byte(strings.Repeat("x", 1e6))}, 100)
		before := allocated()
		n.receiveLocked(l, nil, reply, nil)
		took := allocated() - before
		check.That(t, took <= 10_000 && len(l.err().Error()) <= 300, "what is said of it takes %d bytes of memory: %.500v", took, l.err())
	})
}
