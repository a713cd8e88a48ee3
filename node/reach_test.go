package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	memory "example.com/redlock/internal/link"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// names is a look-up that takes delay to find these addresses, or that there is no such name if there are none. Its errors
// are those of a [net.Resolver].
func names(delay time.Duration, addresses ...string) Dialer {
	return Dialer{find: func(ctx context.Context, _, host string) (found []netip.Addr, err error) {
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, &net.DNSError{Err: "operation was canceled", Name: host}
		}
		if len(addresses) == 0 {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		for _, a := range addresses {
			found = append(found, netip.MustParseAddr(a))
		}
		return found, nil
	}}
}

// withNames runs f as a subtest, with a master that is found under master.test.
func withNames(t *testing.T, name string, d Dialer, f func(*testing.T, *redlocktest.Master, Config)) {
	t.Helper()
	subtest(t, name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		d.connect = func(ctx context.Context, _, address string) (net.Conn, error) {
			switch {
			case strings.HasPrefix(address, "10.0.0."): // drops what comes
				<-ctx.Done()
				return nil, ctx.Err()
			case !strings.HasSuffix(address, ":7001"):
				t.Errorf("dialed %s, want port 7001", address)
			}
			return m.Dial(ctx)
		}
		pool, called, err := d.Pool("master.test:7001")
		check.OK(t, err)
		cfg.Name, cfg.Pool = called, pool
		f(t, m, cfg)
		pool.Close()
	})
}

// TestSlowLookUp: a name that takes long to look up delays the connection, and does not prevent it. Until then the
// reason names it.
func TestSlowLookUp(t *testing.T) {
	for _, takes := range []time.Duration{0, 900 * time.Millisecond, 3 * time.Second} {
		withNames(t, takes.String(), names(takes, "192.0.2.1"), func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			n := start(t, cfg)
			if takes > 2*firstPatience {
				time.Sleep(firstPatience + timeout)
				wantErr(t, "meanwhile", sendAndWait(n, script.Inspect("k")), script.Unsent, "no answer in time to the look-up of master.test")
			}
			waitUntil(t, 4*takes+time.Second, n.isUp)
			n.Close()
		})
	}
}

// TestNoSuchHost: a look-up that fails says of what.
func TestNoSuchHost(t *testing.T) {
	withNames(t, "", names(0), func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		n := start(t, cfg)
		time.Sleep(timeout)
		wantErr(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Unsent, "lookup master.test")
		n.Close()
	})
}

// TestAddressThatDrops: an address that drops what comes is passed by, before the master would be down.
func TestAddressThatDrops(t *testing.T) {
	withNames(t, "", names(0, "10.0.0.1", "192.0.2.1", "192.0.2.2"), func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		log := logged(&cfg)
		n := start(t, cfg)
		waitUntil(t, timeout, n.isUp)
		n.Close()
		log.want(t, 0, "master is down")
	})
}

// TestFirst: addresses are tried in their order, each when those before it have failed or have had their head start. No
// connection is left over.
func TestFirst(t *testing.T) {
	refused := errors.New("refused")
	for _, tt := range []struct {
		addresses string // each: how long it takes, and whether it connects
		patience  time.Duration
		want      int // the address that is connected to, -1 if none is
		after     time.Duration
		err       error
	}{
		{"0+", time.Hour, 0, 0, nil},
		{"700ms+", time.Hour, 0, 700 * time.Millisecond, nil},
		{"1h+", time.Hour, -1, tcpTimeout, errUnreached},
		{"0- 0+", time.Hour, 1, 0, nil},
		{"100ms- 100ms+ 0+", time.Hour, 1, 200 * time.Millisecond, nil},
		{"300ms+ 300ms+ 0+", time.Hour, 0, 300 * time.Millisecond, nil},
		{"1h+ 0+", time.Hour, 1, headStart, nil},
		{"1h+ 1h+ 1h+ 0+", time.Hour, 3, 3 * headStart, nil},
		{"1h+ 10ms- 20ms+", time.Hour, 2, headStart + 30*time.Millisecond, nil},
		{"400ms+ 149ms+", time.Hour, 1, headStart + 149*time.Millisecond, nil},
		{"1h+ 0-", time.Hour, -1, tcpTimeout, refused},
		{"0- 1h+", time.Hour, -1, tcpTimeout, refused},
		{"1h+ 1h+ 1h+ 1h+", 900 * time.Millisecond, -1, 900 * time.Millisecond, context.Canceled},
		{"1h+ 1h+ 0+", 400 * time.Millisecond, -1, 400 * time.Millisecond, context.Canceled},
	} {
		t.Run(tt.addresses, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(tt.patience, cancel)
				made := make(chan net.Conn, mostAddresses)
				connect := func(ctx context.Context, address string) (net.Conn, error) {
					takes, _ := time.ParseDuration(address[:len(address)-1])
					select {
					case <-time.After(takes):
					case <-time.After(tcpTimeout):
						return nil, errUnreached
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if address[len(address)-1] == '-' {
						return nil, refused
					}
					l := memory.New(memory.Addr(address), 0, nil)
					made <- &l.Client
					return &l.Client, nil
				}
				addresses := strings.Fields(tt.addresses)
				begin := time.Now()
				conn, err := first(ctx, addresses, connect)
				check.That(t, errors.Is(err, tt.err) && (err == nil) == (tt.err == nil), "first: got error %v, want %v", err, tt.err)
				check.Equal(t, time.Since(begin), tt.after, "took")
				close(made)
				var open []net.Conn
				for c := range made {
					if c.SetDeadline(time.Time{}) == nil {
						open = append(open, c)
					}
				}
				if tt.want < 0 {
					check.Equal(t, len(open), 0, "open connections")
				} else if len(open) != 1 || open[0] != conn || conn.RemoteAddr().String() != addresses[tt.want] {
					t.Errorf("first: got %v, of %v that are open; want the connection to %s alone", conn, open, addresses[tt.want])
				}
			})
		})
	}
}

// TestLookUp: a few addresses of a name are tried, IPv4 at the second place at the latest if the first is IPv6. An address is
// none to look up, and keeps its zone.
func TestLookUp(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:1":         "127.0.0.1:1",
		"[::1]:1":             "[::1]:1",
		"[fe80::1%lo]:1":      "[fe80::1%lo]:1",
		"[::ffff:10.0.0.1]:1": "10.0.0.1:1",
	} {
		got, err := Dialer{}.lookUp(t.Context(), address)
		check.OK(t, err)
		check.Equal(t, strings.Join(got, " "), want, "%s", address)
	}
	var found []netip.Addr
	for f := range strings.FieldsSeq("2001:db8::1 2001:db8::2 2001:db8::3 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6") {
		found = append(found, netip.MustParseAddr(f))
	}
	check.Equal(t, strings.Join(inOrder(found, "1"), " "),
		"[2001:db8::1]:1 10.0.0.1:1 [2001:db8::3]:1 [2001:db8::2]:1 10.0.0.2:1 10.0.0.3:1 10.0.0.4:1 10.0.0.5:1", "addresses of a name")
}

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
				d := Dialer{Dial: func(context.Context, string, string) (net.Conn, error) {
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
				own.Close()
				cfg.Pool.Close()
				synctest.Wait()
				check.Equal(t, m.Connections(), 0, "connections")
				check.Equal(t, n.lending.Load(), 0, "calls that are under way")
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

func (c *tunnelConn) SetDeadline(time.Time) error      { return errNoDeadlines }
func (c *tunnelConn) SetReadDeadline(time.Time) error  { return errNoDeadlines }
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
			pool, _, err := Dialer{Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
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
			waitUntil(t, 2*firstPatience, n.isUp)
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

// bareConn is a connection without redis.ConnWithContext, as wrappers from before it are.
type bareConn struct{ redis.ConnWithTimeout }

// TestConnectionsThatAreRefused: a pool, or Dial, is refused, in plain words and once, whose connections cannot be given up, or
// are none, or come with an error. Of those that there are none is left open.
func TestConnectionsThatAreRefused(t *testing.T) {
	type pool = func(*redlocktest.Master, *redis.Pool) *redis.Pool
	wrapped := func(wrap func(redis.Conn) redis.Conn) pool {
		return func(_ *redlocktest.Master, p *redis.Pool) *redis.Pool { return withWrappedConns(p, wrap) }
	}
	made := func(conn redis.Conn) pool {
		return func(*redlocktest.Master, *redis.Pool) *redis.Pool {
			return &redis.Pool{Dial: func() (redis.Conn, error) { return conn, nil }}
		}
	}
	dialed := func(dial func(context.Context, *redlocktest.Master) (net.Conn, error)) pool {
		return func(m *redlocktest.Master, _ *redis.Pool) *redis.Pool {
			return dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, m) })
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
		"nil":              {made(nil), "connections of its pool are nil"},
		"a pointer to nil": {made((*bentConn)(nil)), "connections of its pool are nil"},
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
		subtest(t, name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			log := logged(&cfg)
			cfg.Pool = tt.pool(m, cfg.Pool)
			n := start(t, cfg)
			n.Subscribe("a", new(recorder))
			wantErr(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Unsent, tt.says)
			check.Says(t, probed(t.Context(), cfg).Err, tt.says, "Probe")
			time.Sleep(10 * time.Second)
			n.Close()
			log.want(t, 1, "WARN", tt.says)
			cfg.Pool.Close()
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
		check.Equal(t, n.lending.Load(), 0, "calls that are under way")
	})
}
