package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	memory "example.com/redlock/internal/link"
	"example.com/redlock/redlocktest"
)

// TestNames: a name that takes long to look up delays the connection, and does not prevent it. An address that drops what
// comes is passed by, before the master would be down. Until there is a connection, the reason names the look-up.
func TestNames(t *testing.T) {
	for _, tt := range []struct {
		takes     time.Duration // a look-up
		addresses string        // that it finds; none: there is no such host
		attempts  int
		within    time.Duration // the last of them connects
		says      string        // those before
	}{
		{0, "192.0.2.1", 1, 0, ""},
		{900 * time.Millisecond, "192.0.2.1", 1, 900 * time.Millisecond, ""},
		{3 * time.Second, "192.0.2.1", 3, 3 * time.Second, "no answer in time to the look-up of master.test"},
		{0, "", 3, -1, "lookup master.test"},
		{0, "10.0.0.1 192.0.2.1 192.0.2.2", 1, timeout, ""},
	} {
		subtest(t, fmt.Sprint(tt.takes, tt.addresses), func(t *testing.T) {
			m := redlocktest.Start(t, 1).Master(0)
			d := Dialer{find: func(ctx context.Context, _, host string) (found []netip.Addr, err error) {
				select {
				case <-time.After(tt.takes):
				case <-ctx.Done():
					return nil, &net.DNSError{Err: "operation was canceled", Name: host}
				}
				for a := range strings.FieldsSeq(tt.addresses) {
					found = append(found, netip.MustParseAddr(a))
				}
				if found == nil {
					return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
				}
				return found, nil
			}, connect: func(ctx context.Context, _, address string) (net.Conn, error) {
				switch {
				case strings.HasPrefix(address, "10.0.0."): // drops what comes
					<-ctx.Done()
					return nil, ctx.Err()
				case !strings.HasSuffix(address, ":7001"):
					t.Errorf("dialed %s, want port 7001", address)
				}
				return m.Dial(ctx)
			}}
			pool, _, err := d.Pool("master.test:7001")
			check.OK(t, err)
			defer pool.Close()
			s, tries := at(pool), FirstAttempts(timeout)
			for attempt := 1; ; attempt++ {
				begin := time.Now()
				c, err := s.Connect(t.Context(), tries.Patience)
				if err == nil {
					c.Close()
					check.Equal(t, attempt, tt.attempts, "attempts")
					check.AtMost(t, time.Since(begin), tt.within, "the last took")
					return
				}
				tries.Failed(err)
				check.Says(t, err, tt.says, "attempt %d", attempt)
				if tt.says == "" || attempt == tt.attempts {
					check.Equal(t, tt.within, -1, "no connection after %d attempts", attempt)
					return
				}
			}
		})
	}
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
					l := memory.New(memory.Addr(address), func() time.Duration { return 0 })
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
