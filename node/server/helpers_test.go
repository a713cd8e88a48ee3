package server

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
	"go.uber.org/goleak"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const timeout = 500 * time.Millisecond

// subtest runs f as a subtest, in a bubble.
func subtest(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// at is the server that a pool leads to, and one of the pool's own making that dial leads to.
func at(pool *redis.Pool) *Server { return &Server{Name: "m1", Pool: pool, Timeout: timeout} }

// dialing returns the server that dial leads to.
func dialing(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error)) *Server {
	t.Helper()
	pool, _, err := Dialer{Dial: dial}.Pool("m1")
	check.OK(t, err)
	t.Cleanup(func() { pool.Close() })
	return at(pool)
}

// speaking returns a server that speaks as say does, which gets the other end of each connection, and hangs up when that
// returns.
func speaking(t *testing.T, say func(net.Conn)) *Server {
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

// greet connects to s, greets it and loads the scripts.
func greet(t *testing.T, s *Server) error {
	t.Helper()
	c, err := s.Connect(t.Context(), FirstPatience)
	if err != nil {
		return err
	}
	defer c.Close()
	g, _, err := c.Greet()
	if err != nil {
		return err
	}
	return c.LoadScripts(g.Scripts)
}

// missing is how many scripts a server lacks that has none.
var missing = len(script.Exist) - 2

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}
