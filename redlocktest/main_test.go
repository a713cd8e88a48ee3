package redlocktest

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"example.com/redlock/internal/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bubble runs f with one master in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T, m *Master)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, Start(t, 1).Master(0)) })
}

// dial connects to a Master, or over a Wire, without a timeout of its own.
func dial(t *testing.T, to interface {
	Dial(context.Context) (net.Conn, error)
},
) redis.Conn {
	t.Helper()
	c, err := to.Dial(t.Context())
	check.OK(t, err, "Dial")
	conn := redis.NewConn(c, 0, 0)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func do(t *testing.T, c redis.Conn, cmd string, args ...any) any {
	t.Helper()
	reply, err := c.Do(cmd, args...)
	check.OK(t, err, "%s %v", cmd, args)
	if b, ok := reply.([]byte); ok {
		return string(b)
	}
	return reply
}

// refused does a command whose answer is an error that begins with kind.
func refused(t *testing.T, c redis.Conn, kind, cmd string, args ...any) {
	t.Helper()
	got, err := c.Do(cmd, args...)
	check.That(t, err != nil && strings.HasPrefix(err.Error(), kind), "%s %v: got %v, %v, want %s", cmd, args, got, err, kind)
}

// send writes a command without waiting for the answer.
func send(t *testing.T, c redis.Conn, cmd string, args ...any) {
	t.Helper()
	check.OK(t, errors.Join(c.Send(cmd, args...), c.Flush()), "send %s %v", cmd, args)
}

// info returns the fields of INFO's answer.
func info(t *testing.T, c redis.Conn, sections ...any) map[string]string {
	t.Helper()
	fields := map[string]string{}
	for line := range strings.Lines(do(t, c, "INFO", sections...).(string)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// second returns the error of a call with two results.
func second[A any](_ A, err error) error { return err }

// wantKeys wants m to have these keys, in order, and no others.
func wantKeys(t *testing.T, m *Master, when string, want ...string) {
	t.Helper()
	check.Equal(t, strings.Join(m.Keys(), " "), strings.Join(want, " "), "%s", when)
}
