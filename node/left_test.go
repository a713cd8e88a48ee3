package node

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestASubscriptionIsNotWaitedFor: a connection for messages that is being made, beside a Dial that was left behind, keeps
// nobody from making another one for commands.
func TestASubscriptionIsNotWaitedFor(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var dials atomic.Int32
		over := make(chan struct{})
		cfg.Pool = dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			switch dials.Add(1) {
			case 1:
				<-over
			case 3:
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return m.Dial(context.Background())
		})
		n := start(t, cfg)
		time.Sleep(5 * time.Second)
		n.Subscribe("a", new(recorder))
		synctest.Wait()
		check.Equal(t, dials.Load(), 3, "dials")
		m.KillClients()
		synctest.Wait()
		waitUntil(t, time.Second, n.isUp)
		close(over)
	})
}

// TestDialWithBoth: a connection that Dial returns together with an error is closed.
func TestDialWithBoth(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, _ := m.Dial(ctx)
			return conn, errors.New("the proxy refuses")
		})
		n := start(t, cfg)
		wantErr(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Unsent, "the proxy refuses")
		check.Equal(t, m.Connections(), 0, "connections")
		cfg.Pool = dialing(t, func(context.Context, string, string) (net.Conn, error) {
			return (*net.TCPConn)(nil), errors.New("nothing listens")
		})
		wantErr(t, "inspect", sendAndWait(start(t, cfg), script.Inspect("k")), script.Unsent, "nothing listens")
	})
}

// lingeringConn is a connection whose Close takes until over.
type lingeringConn struct {
	net.Conn
	over chan struct{}
}

func (c *lingeringConn) Close() error {
	<-c.over
	return c.Conn.Close()
}

// TestConnectionsThatDoNotClose: they are left behind as a Dial is, and hold up neither those who send nor Close.
func TestConnectionsThatDoNotClose(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		over := make(chan struct{})
		var dials atomic.Int32
		cfg.Pool = dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			dials.Add(1)
			conn, err := m.Dial(ctx)
			return &lingeringConn{conn, over}, err
		})
		n := started(t, cfg)
		m.KillClients()
		time.Sleep(time.Second)
		want(t, "over the next connection", sendAndWait(n, script.Inspect("k")), script.Done)
		for range 10 {
			m.KillClients()
			time.Sleep(time.Second)
			got := sendAndWait(n, script.Inspect("k"))
			if got.after > 0 {
				t.Errorf("answered after %v, want at once", got.after)
			}
		}
		wantErr(t, "then", sendAndWait(n, script.Inspect("k")), script.Unsent, "go on although their context has ended")
		check.AtMost(t, dials.Load(), 1+mostLent, "dials")
		check.AtMost(t, closed(n), noticed, "Close took")
		close(over)
		synctest.Wait()
		check.Equal(t, m.Connections(), 0, "connections")
		check.Equal(t, n.lending.Load(), 0, "calls that are under way")
	})
}
