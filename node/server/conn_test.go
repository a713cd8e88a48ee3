package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktest"
)

// TestLastWords: what a server says before it hangs up is the reason.
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
		subtest(t, tt.name, func(t *testing.T) {
			err := greet(t, speaking(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, tt.says)
			}))
			check.Says(t, err, tt.want, "Greet")
			check.That(t, Heals(err) == tt.heals && len(err.Error()) <= 500, "Heals(%v): got %v, want %v, in few words", err, Heals(err), tt.heals)
			check.Equal(t, About(err), tt.about, "what %v is about", err)
		})
	}
}

// TestEachReplyHasItsTime: a server that takes a while for each reply may take longer for all of them.
func TestEachReplyHasItsTime(t *testing.T) {
	subtest(t, "", func(t *testing.T) {
		s := speaking(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			for range 3 {
				time.Sleep(FirstPatience * 2 / 5)
				_, _ = io.WriteString(conn, "+PONG\r\n")
			}
		})
		c, err := s.Connect(t.Context(), FirstPatience)
		check.OK(t, err, "Connect")
		defer c.Close()
		ping := []any{"PING"}
		_, err = c.Ask(ping, ping, ping)
		check.OK(t, err, "Ask")
	})
}

// TestNoRoomForTheScripts: a server that reads no further than its greeting does not hold up who loads its scripts.
func TestNoRoomForTheScripts(t *testing.T) {
	subtest(t, "", func(t *testing.T) {
		const info = "$23\r\nrun_id:a\r\nrole:master\r\n\r\n"
		greeted := info + info + "+id=7\r\n+PONG\r\n*2\r\n:1795717027\r\n:1\r\n" +
			fmt.Sprintf("*%d\r\n", missing) + strings.Repeat(":0\r\n", missing)
		err := greet(t, speaking(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, greeted)
			_, _ = io.WriteString(conn, "+\r\n") // which nobody reads: it waits for the end of the connection
		}))
		check.Equal(t, err, ErrTimeout, "LoadScripts")
	})
}

// TestKnownPort: a port on which the server has answered before needs no other scheme.
func TestKnownPort(t *testing.T) {
	subtest(t, "", func(t *testing.T) {
		m := redlocktest.Start(t, 1).Master(0)
		hangsUp := false
		s := dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			if hangsUp {
				near, far := net.Pipe()
				go func() {
					_, _ = far.Read(make([]byte, 4096))
					far.Close()
				}()
				return pipeEnd{near}, nil
			}
			return m.Dial(ctx)
		})
		check.OK(t, greet(t, s))
		hangsUp = true
		check.Equal(t, greet(t, s), errHungUp, "Greet")
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
			subtest(t, name+", "+what, func(t *testing.T) {
				pool, _, err := dialer.Pool("m1")
				check.OK(t, err)
				defer pool.Close()
				_, got := at(pool).Connect(t.Context(), FirstPatience)
				if !contains(got, what) || !contains(got, "vault: ") || !Heals(got) || Remedy(got) == "" {
					t.Errorf("Connect: got %v, which heals: %v; want what the function said, and that it does", got, Heals(got))
				}
				check.Equal(t, errors.Is(got, context.DeadlineExceeded) || errors.Is(got, context.Canceled), false, "%v matches the error of a context", got)
				check.Equal(t, errors.Is(got, ErrTimeout), name == "no answer in time", "%v is a timeout", got)
			})
		}
	}
}

// bareConn is a connection without redis.ConnWithContext, as wrappers from before it are.
type bareConn struct{ redis.ConnWithTimeout }

// TestConnectionsThatAreRefused: a pool, or Dial, is refused, in plain words, whose connections cannot be given up, or are none,
// or come with an error. Of those that there are none is left open.
func TestConnectionsThatAreRefused(t *testing.T) {
	type pool = func(*redlocktest.Master, *redis.Pool) *redis.Pool
	wrapped := func(wrap func(redis.Conn) redis.Conn) pool {
		return func(_ *redlocktest.Master, p *redis.Pool) *redis.Pool { return bent.Wrapped(p, wrap) }
	}
	made := func(conn redis.Conn) pool {
		return func(*redlocktest.Master, *redis.Pool) *redis.Pool {
			return &redis.Pool{Dial: func() (redis.Conn, error) { return conn, nil }}
		}
	}
	dialed := func(dial func(context.Context, *redlocktest.Master) (net.Conn, error)) pool {
		return func(m *redlocktest.Master, _ *redis.Pool) *redis.Pool {
			return dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, m) }).Pool
		}
	}
	bare := func(c redis.Conn) redis.Conn { return bareConn{c.(redis.ConnWithTimeout)} }
	for name, tt := range map[string]struct {
		pool pool
		says string
	}{
		"no context": {wrapped(bare), errConn.Error()},
		"neither":    {wrapped(func(c redis.Conn) redis.Conn { return struct{ redis.Conn }{c} }), errConn.Error()},
		"no context, with logging": {wrapped(func(c redis.Conn) redis.Conn {
			return redis.NewLoggingConn(bare(c), slog.NewLogLogger(slog.DiscardHandler, 0), "")
		}), errConn.Error()},
		"nil":              {made(nil), errConn.Error()},
		"a pointer to nil": {made((*bareConn)(nil)), errConn.Error()},
		"nil from Dial": {dialed(func(context.Context, *redlocktest.Master) (net.Conn, error) {
			return nil, nil
		}), "no connection from Dial, and no error"},
		"a connection and an error": {dialed(func(ctx context.Context, m *redlocktest.Master) (net.Conn, error) {
			conn, _ := m.Dial(ctx)
			return conn, errors.New("the proxy refuses")
		}), "the proxy refuses"},
		"a pointer to nil and an error": {dialed(func(context.Context, *redlocktest.Master) (net.Conn, error) {
			return (*net.TCPConn)(nil), errors.New("nothing listens")
		}), "nothing listens"},
	} {
		subtest(t, name, func(t *testing.T) {
			fleet := redlocktest.Start(t, 1)
			m := fleet.Master(0)
			s := at(tt.pool(m, fleet.Pools()[0]))
			_, err := s.Connect(t.Context(), FirstPatience)
			check.Says(t, err, tt.says, "Connect")
			s.Pool.Close()
			synctest.Wait()
			check.Equal(t, m.Connections(), 0, "connections")
		})
	}
}

// TestNoSecretInErrors: a server that does not know a command repeats its arguments, and those of AUTH are a password.
// Nobody hears of them, whatever words a user's pool puts around.
func TestNoSecretInErrors(t *testing.T) {
	const echo = "ERR unknown command 'AUTH', with args beginning with: 'locks' 's3cret' "
	subtest(t, "a reply", func(t *testing.T) {
		s := speaking(t, func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, "-"+echo+"\r\n")
			_, _ = io.Copy(io.Discard, conn)
		})
		c, err := s.Connect(t.Context(), FirstPatience)
		check.OK(t, err)
		defer c.Close()
		replies, err := c.Ask([]any{"EVAL"})
		check.Equal(t, fmt.Sprint(replies, err), "[ERR unknown command 'AUTH'] <nil>", "the reply")
	})
	for name, why := range map[string]error{"dialing": redis.Error(echo), "in the words of a user's pool": fmt.Errorf("connect: %w", redis.Error(echo))} {
		subtest(t, name, func(t *testing.T) {
			_, err := at(&redis.Pool{DialContext: func(context.Context) (redis.Conn, error) { return nil, why }}).Connect(t.Context(), FirstPatience)
			check.Equal(t, fmt.Sprint(err), "ERR unknown command 'AUTH'", "Connect")
		})
	}
}
