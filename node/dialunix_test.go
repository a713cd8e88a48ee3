package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"example.com/redlock/redlocktest"
)

// TestPoolDialsSocket: user, password and database of a unix:// URL reach the master.
func TestPoolDialsSocket(t *testing.T) {
	fleet := redlocktest.Start(t, 1)
	m := fleet.Master(0)
	m.Password("s/e?c#r@t")
	socket := filepath.Join(t.TempDir(), "redis.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no Unix sockets here:", err)
	}
	relay(t, listener, strings.TrimPrefix(fleet.URLs()[0], "redis://"))
	const password = "s%2Fe%3Fc%23r%40t"
	testPool(t, m, socket, []poolTest{
		{name: "password", url: "unix://:" + password + "@" + socket, key: "k"},
		{name: "password alone", url: "unix://" + password + "@" + socket, key: "k"},
		{name: "user", url: "unix://default:" + password + "@" + socket + "?db=0", key: "k"},
		{name: "database", url: "unix://:" + password + "@" + socket + "?db=3"},
		{name: "another user", url: "unix://other:" + password + "@" + socket, want: "WRONGPASS"},
		{name: "no password", url: "unix://" + socket, want: "NOAUTH"},
		{name: "credentials", url: socket, dialer: credentials("s/e?c#r@t", nil), key: "k"},
		{name: "path", url: socket, want: "NOAUTH"},
	})
}

// TestPoolDialsTLS: the certificate of a rediss:// master is checked against the authorities that the
// caller trusts, and for the name that it expects.
func TestPoolDialsTLS(t *testing.T) {
	fleet := redlocktest.Start(t, 1)
	secure, trusted := secured(t, strings.TrimPrefix(fleet.URLs()[0], "redis://"))
	for _, tt := range []struct {
		name   string
		config *tls.Config
		want   string // the error
	}{
		{"the system's authorities", nil, "failed to verify certificate"},
		{"the caller's authorities", &tls.Config{RootCAs: trusted}, ""},
		{"its other name", &tls.Config{RootCAs: trusted, ServerName: "example.com"}, ""},
		{"another name", &tls.Config{RootCAs: trusted, ServerName: "example.org"}, "failed to verify certificate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, _, err := Dialer{TLS: tt.config}.Pool("rediss://" + secure)
			if err != nil {
				t.Fatal(err)
			}
			defer pool.Close()
			conn := pool.Get()
			defer conn.Close()
			_, err = conn.Do("PING")
			if (err == nil) != (tt.want == "") || err != nil && !contains(err, tt.want) {
				t.Errorf("PING: got %v, want %q", err, tt.want)
			}
		})
	}
}

// TestWhatIsNoReply: whatever the transport is, what no Redis sends is refused before redigo reads it.
func TestWhatIsNoReply(t *testing.T) {
	address := answering(t, "HTTP/1.1 400 Bad Request\r\n")
	secure, trusted := secured(t, address)
	socket := filepath.Join(t.TempDir(), "redis.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no Unix sockets here:", err)
	}
	relay(t, listener, address)
	for _, to := range []string{"redis://" + address, "rediss://" + secure, "unix://" + socket} {
		pool, _, err := Dialer{TLS: &tls.Config{RootCAs: trusted}}.Pool(to)
		if err != nil {
			t.Fatal(err)
		}
		conn := pool.Get()
		if _, err := conn.Do("PING"); !errors.Is(err, errReply) {
			t.Errorf("%s: got %v, want %v", to, err, errReply)
		}
		conn.Close()
	}
}

// secured returns an address that leads to another one, with TLS, and who is to be trusted for that.
func secured(t *testing.T, address string) (secure string, trusted *x509.CertPool) {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1 and example.com
	certified.Close()
	trusted = x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates})
	if err != nil {
		t.Fatal(err)
	}
	relay(t, listener, address)
	return listener.Addr().String(), trusted
}

// relay passes what comes to listener on to address, and back.
//
// Goroutines: one, and two for each connection. They end with the listener, which ends with the test,
// and with the connections.
func relay(t *testing.T, listener net.Listener, address string) {
	t.Helper()
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", address)
			if err != nil {
				near.Close()
				continue
			}
			join := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				to.Close()
			}
			go join(near, far)
			go join(far, near)
		}
	}()
}
