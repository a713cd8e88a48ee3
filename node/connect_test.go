package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// TestFunctionsThatIgnoreTheirContext: functions of the user that do not return are left behind. Close does not wait for
// them, there are few of them however long that goes on, the reason says so, and the connection that they return late
// is closed.
func TestFunctionsThatIgnoreTheirContext(t *testing.T) {
	for _, which := range []string{"Credentials", "Dial", "a pool's Dial"} {
		for _, closes := range []string{"at once", "later"} {
			subtest(t, which+", Close "+closes, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				var calls atomic.Int32
				release := make(chan struct{})
				hang := func() { calls.Add(1); <-release }
				d := server.Dialer{Dial: func(context.Context, string, string) (net.Conn, error) {
					if which == "Dial" {
						hang()
					}
					return m.Dial(context.Background())
				}}
				if which == "Credentials" {
					d.Credentials = func(context.Context, string) (string, string, error) { hang(); return "", "", nil }
				}
				own, _, err := d.Pool("master.test")
				check.OK(t, err)
				cfg.Pool = own
				if which == "a pool's Dial" {
					cfg.Pool = &redis.Pool{Dial: func() (redis.Conn, error) {
						hang()
						conn, err := m.Dial(context.Background())
						return redis.NewConn(conn, 0, 0), err
					}}
				}
				n := start(t, cfg)
				asked := send(n, script.Inspect("k"))
				if closes == "later" {
					time.Sleep(time.Minute)
					wantErr(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Unsent, "go on although their context has ended")
				}
				check.AtMost(t, closed(n), 2*timeout+noticed, "Close took")
				check.Equal(t, asked.wait().times, 1, "answers")
				check.Between(t, calls.Load(), 1, mostLent, "calls")
				close(release)
				synctest.Wait()
				conn, err := n.server.Connect(t.Context(), time.Second)
				check.OK(t, err, "another connection, once they have returned")
				conn.Close()
				own.Close()
				cfg.Pool.Close()
				synctest.Wait()
				check.Equal(t, m.Connections(), 0, "connections")
			})
		}
	}
}

// tunnelConn is a connection without deadlines. If it is deaf, a Read goes on after Close until the other side closes,
// as through SSH.
type tunnelConn struct {
	net.Conn
	deaf bool
	over chan struct{}
}

var errNoDeadlines = errors.New("deadline not supported")

func (c *tunnelConn) SetDeadline(time.Time) error { return errNoDeadlines }

func (c *tunnelConn) SetReadDeadline(time.Time) error { return errNoDeadlines }

func (c *tunnelConn) SetWriteDeadline(time.Time) error { return errNoDeadlines }

func (c *tunnelConn) Close() error {
	if !c.deaf {
		return c.Conn.Close()
	}
	go func() {
		<-c.over
		c.Conn.Close()
	}()
	return nil
}

// TestConnectionsWithoutDeadlines: a master behind a tunnel is used as any other, and given up as any other, also if the
// tunnel does not let go of its connections.
func TestConnectionsWithoutDeadlines(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		subtest(t, fmt.Sprintf("deaf %v", deaf), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			over := make(chan struct{})
			hangUp := sync.OnceFunc(func() { close(over) })
			defer hangUp()
			pool, _, err := server.Dialer{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				conn, err := m.Dial(ctx)
				return &tunnelConn{conn, deaf, over}, err
			}}.Pool("default:secret@master.test/3")
			check.OK(t, err)
			m.Password("secret")
			cfg.Pool = pool
			n := started(t, cfg)
			events := new(recorder)
			n.Subscribe(client("me"), events)
			want(t, "acquire", sendAndWait(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), script.Done)
			m.Freeze()
			want(t, "frozen", sendAndWait(n, script.Inspect("k")), script.Unknown)
			time.Sleep(givenUp)
			m.Thaw()
			waitUntil(t, 2*server.FirstPatience, n.isUp)
			want(t, "release", sendAndWait(n, script.NewOwner("k", "me:1").Release(1, 0)), script.Done)
			m.Freeze()
			send(n, script.Inspect("k"))
			check.AtMost(t, closed(n), timeout, "Close took")
			hangUp()
			m.Thaw()
			pool.Close()
			synctest.Wait()
			check.Equal(t, m.Connections(), 0, "connections")
		})
	}
}

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
			check.Equal(t, sendAndWait(n, script.Inspect("k")).after, 0, "answered after")
		}
		wantErr(t, "then", sendAndWait(n, script.Inspect("k")), script.Unsent, "go on although their context has ended")
		check.AtMost(t, dials.Load(), 1+mostLent, "dials")
		check.AtMost(t, closed(n), noticed, "Close took")
		close(over)
		synctest.Wait()
		check.Equal(t, m.Connections(), 0, "connections")
		conn, err := n.server.Connect(t.Context(), time.Second)
		check.OK(t, err, "another connection, once they are closed")
		conn.Close()
	})
}

// TestWriteTimeout: a master that reads nothing is down for that, and not for a connection
// that redigo has closed for the same reason.
func TestWriteTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Pool = &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) {
			conn, err := m.Dial(ctx)
			return redis.NewConn(conn, 0, timeout/2), err
		}}
		n := started(t, cfg)
		m.Freeze() // on a command, so that it reads nothing more
		send(n, script.Inspect("k"))
		synctest.Wait()
		got := sendAndWait(n, script.Inspect(strings.Repeat("k", 2<<20)))
		wantErr(t, "inspect", got, script.Unknown, server.ErrTimeout.Error())
		check.Equal(t, got.after, timeout/2, "inspect: answered after")
	})
}

// TestRefusedIsNotDown: the log tells a master that is there, and must not vote, from one that
// is not there.
func TestRefusedIsNotDown(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		log := logged(&cfg)
		m.Kill()
		start(t, cfg)
		time.Sleep(10 * time.Second)
		log.want(t, 1, "master is down", "connection refused")
		m.SetRole("slave")
		m.RestartWithData()
		time.Sleep(10 * time.Second)
		log.want(t, 1, "master is refused", "is a replica, not a master")
		check.Equal(t, scriptCalls(m)+m.Calls("SCRIPT"), m.Calls("PING"), "scripts, and whether it has them: asked with each greeting")
		m.Password("secret")
		m.RestartWithData()
		time.Sleep(10 * time.Second)
		log.want(t, 1, "master is refused", "NOAUTH")
		m.Kill()
		time.Sleep(10 * time.Second)
		log.want(t, 2, "master is down", "connection refused")
		log.want(t, 2, "master is refused")
	})
}

// TestUnaskedReply: a reply that nobody asked for is not written out, however long it is.
func TestUnaskedReply(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		n.mu.Lock()
		defer n.mu.Unlock()
		l := n.link
		reply := slices.Repeat([]any{[]byte(strings.Repeat("x", 1e6))}, 100)
		n.receiveLocked(l, nil, reply, nil)
		check.That(t, len(l.err().Error()) <= 300, "what is said of it: %.500v", l.err())
	})
}

// TestPanicOfAConnection: the reader survives a connection that panics, in the handshake and later.
func TestPanicOfAConnection(t *testing.T) {
	for _, at := range []string{"INFO server", "EVAL", "SUBSCRIBE"} {
		subtest(t, at, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var well atomic.Bool
			cfg.Pool = bent.Pool(cfg.Pool, &bent.Rules{Reply: func(words string) any {
				if strings.HasPrefix(words, at) && !well.Load() {
					panic("makeslice: len out of range")
				}
				return nil
			}})
			n := start(t, cfg)
			n.Subscribe("a", new(recorder))
			got := sendAndWait(n, script.Inspect("k"))
			check.That(t, at == "SUBSCRIBE" || contains(got.Err, "makeslice"), "inspect: got %v (%v), want the reason", got.Outcome, got.Err)
			well.Store(true)
			waitUntil(t, time.Second, n.isUp)
			want(t, "afterwards", sendAndWait(n, script.Inspect("k")), script.Done)
		})
	}
}
