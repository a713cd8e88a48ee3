package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktest"
)

// TestPool: the name is where the master is. An error says what is wrong, and repeats nothing that may be a
// password, also where it has characters that should have been escaped.
func TestPool(t *testing.T) {
	for _, tt := range []struct{ address, name, err string }{
		{"localhost:6379", "localhost:6379", ""},
		{"localhost", "localhost:6379", ""},
		{"redis://10.0.0.1", "10.0.0.1:6379", ""},
		{"redis://10.0.0.1:", "10.0.0.1:6379", ""},
		{"redis://10.0.0.1:7000/", "10.0.0.1:7000", ""},
		{"redis://10.0.0.1:7000/3", "10.0.0.1:7000", ""},
		{"rediss://redis.example.com:7000", "redis.example.com:7000", ""},
		{"redis://user:password@redis.example.com/3", "redis.example.com:6379", ""},
		{"user:password@redis.example.com", "redis.example.com:6379", ""},
		{"redis://:p%2Fa%3Fs%23s%40@redis.example.com", "redis.example.com:6379", ""},
		{"redis://10.0.0.1:65535/0?", "10.0.0.1:65535", ""},
		{"redis://:p,a:s@10.0.0.1:1", "10.0.0.1:1", ""},
		{"[::1]:7000", "[::1]:7000", ""},
		{"[::1]", "[::1]:6379", ""},
		{"redis://user:password@[fe80::1%25eth0]:7000/3", "[fe80::1%eth0]:7000", ""},
		{"unix:///run/redis.sock", "/run/redis.sock", ""},
		{"unix://user:password@/run/redis.sock?db=3", "/run/redis.sock", ""},
		{"/run/redis 1?.sock", "/run/redis 1?.sock", ""},

		{"", "", "no host"},
		{"redis://", "", "no host"},
		{":6379", "", "no host"},
		{"redis:localhost:6379://", "", "no host"},
		{"http://localhost:6379", "", `scheme "http", want redis, rediss or unix`},
		{"abc123://localhost:6379", "", "scheme …, want redis, rediss or unix"},
		{"redis://localhost:6379?s678=1", "", "parameter … is not understood"},
		{"unix://run/redis.sock", "", "three slashes"},
		{"unix://", "", "no path to a socket"},
		{"unix:///run/", "", "no path to a socket"},
		{"unix:///run/redis.sock?db=first", "", "not ?db= and a number"},
		{"unix://user:abc@/run/redis.sock?password=678", "", "not ?db= and a number"},
		{"unix://:123/45@/run/redis.sock", "", "three slashes"},
		{"unix://:abc/45@/run/redis.sock", "", "percent-encoded"},
		{"localhost:port", "", "not a Redis URL or host:port"},
		{"localhost:0", "", "the port is not from 1 to 65535"},
		{"localhost:65536", "", "the port is not from 1 to 65535"},
		{"redis://user:12345@[::1]:0/1", "", "the port is not from 1 to 65535"},
		{strings.Repeat("a", 253), strings.Repeat("a", 253) + ":6379", ""},
		{strings.Repeat("a", 300), "", "longer than any"},
		{"/" + strings.Repeat("a", 300), "", "longer than any"},
		{"a,b", "", "one master per entry"},
		{"a:1,b", "", "one master per entry"},
		{"redis://:12345@a:1,b:2/0", "", "one master per entry"},
		{"redis://:12345@a:1,redis://:67890@b:2", "", "one master per entry"},
		{"::1", "", "brackets"},
		{"a:b:1", "", "more than one colon"},
		{"redis://localhost:6379?db=678", "", `parameter "db" is not understood`},
		{"user:12345@localhost/0?db=678&password=678", "", `parameter "db" is not understood`},
		{"redis://localhost:6379#678", "", "no database number"},
		{"redis://user:99123/67890@localhost", "", "no database number"},
		{"redis://localhost:6379/first", "", "no database number"},
		{"redis://localhost:6379/1/2", "", "no database number"},
		{"redis://user:12345/67890@localhost", "", "no database number"},
		{"redis://user:12345?67890@localhost", "", "no database number"},
		{"redis://user:12345#67890@localhost", "", "no database number"},
		{"redis://user:12345%zz67890@localhost", "", "percent-encoded"},
		{"redis://user:abcde/12345@localhost", "", "percent-encoded"},
		{"redis://user:12345[67890@localhost", "", "percent-encoded"},
		{"user:12345 67890@localhost", "", "percent-encoded"},
		{"redis://:12345\x0067890@localhost", "", "percent-encoded"},
	} {
		t.Run(tt.address, func(t *testing.T) {
			pool, name, err := Dialer{}.Pool(tt.address)
			asWanted := err == nil && pool != nil && tt.err == "" || pool == nil && tt.err != "" && contains(err, tt.err)
			check.That(t, asWanted && name == tt.name, "Pool(%q): got %v, %q, error %v; want %q, or an error with %q", tt.address, pool, name, err, tt.name, tt.err)
			for _, secret := range []string{"123", "678", "abc"} {
				check.Equal(t, contains(err, secret), false, "Pool(%q): its error %q tells of the password", tt.address, err)
			}
		})
	}
}

// TestPoolDials: what the URL says reaches the master.
func TestPoolDials(t *testing.T) {
	fleet := redlocktest.Start(t, 1)
	m := fleet.Master(0)
	address := strings.TrimPrefix(fleet.URLs()[0], "redis://")
	m.Password("s/e?c#r@t")
	const password = "s%2Fe%3Fc%23r%40t"
	testPool(t, m, address, []poolTest{
		{name: "password", url: "redis://:" + password + "@" + address, key: "k"},
		{name: "password alone", url: "redis://" + password + "@" + address, key: "k"},
		{name: "user", url: "redis://default:" + password + "@" + address, key: "k"},
		{name: "no scheme", url: "default:" + password + "@" + address, key: "k"},
		{name: "database", url: "redis://:" + password + "@" + address + "/3"},
		{name: "another user", url: "redis://other:" + password + "@" + address, want: "WRONGPASS"},
		{name: "wrong password", url: "redis://:wrong@" + address, want: "WRONGPASS"},
		{name: "no password", url: "redis://" + address, want: "NOAUTH"},
		{name: "user without a password", url: "redis://other:@" + address, want: "WRONGPASS invalid username-password pair or user is disabled. (the user was given without a password)"},
		{name: "credentials without a password", url: address, dialer: Dialer{Credentials: func(context.Context, string) (string, string, error) { return "other", "", nil }}, want: "the user was given without a password"},
		{name: "credentials", url: address, dialer: credentials("s/e?c#r@t", nil), key: "k"},
		{name: "credentials and database", url: "redis://" + address + "/3", dialer: credentials("s/e?c#r@t", nil)},
		{name: "credentials for others", url: "redis://:" + password + "@" + address, dialer: credentials("wrong", nil), key: "k"},
		{name: "wrong credentials", url: address, dialer: credentials("wrong", nil), want: "WRONGPASS"},
		{name: "no credentials", url: address, dialer: credentials("", errors.New("the vault is shut")), want: "no credentials: the vault is shut"},
		{name: "tunnel", url: "redis://:" + password + "@" + address, dialer: Dialer{Dial: func(ctx context.Context, network, to string) (net.Conn, error) {
			check.That(t, network == "tcp" && to == address, "Dial(%q, %q), want tcp and %q", network, to, address)
			return m.Dial(ctx)
		}}, key: "k"},
	})
}

// TestNoSelect: a user who may not choose the URL's database learns which permission that takes.
func TestNoSelect(t *testing.T) {
	address := answering(t, "-NOPERM this user has no permissions to run the 'select' command\r\n")
	pool, _, err := Dialer{}.Pool("redis://" + address + "/1")
	check.OK(t, err)
	defer pool.Close()
	if _, err := pool.DialContext(t.Context()); !contains(err, "(the user needs the permission +select)") || About(err) != "permissions" {
		t.Errorf("DialContext = %v", err)
	}
}

func credentials(password string, err error) Dialer {
	return Dialer{Credentials: func(_ context.Context, master string) (string, string, error) {
		if master == "" {
			err = errors.New("whose?")
		}
		return "default", password, err
	}}
}

type poolTest struct {
	name, url string
	dialer    Dialer
	key       string // a key that is set arrives there, in database 0
	want      string // the error
}

// testPool sets a key of master m by each URL. called is what the pool calls the master.
func testPool(t *testing.T, m *redlocktest.Master, called string, tests []poolTest) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m.FlushAll()
			pool, name, err := tt.dialer.Pool(tt.url)
			if err != nil || name != called {
				t.Fatalf("Pool: got %q (%v), want %q", name, err, called)
			}
			defer pool.Close()
			conn := pool.Get()
			defer conn.Close()
			_, err = conn.Do("SET", "k", "v")
			if tt.want != "" {
				check.That(t, contains(err, tt.want) && !contains(err, "s/e"), "SET: got %v, want an error with %s", err, tt.want)
				const missing = "without a password"
				check.Equal(t, contains(err, missing), strings.Contains(tt.want, missing), "whether the error calls the password missing: %v", err)
				return
			}
			check.OK(t, err, "SET")
			check.Equal(t, strings.Join(m.Keys(), " "), tt.key, "keys in database 0")
		})
	}
}

// TestPoolTLS: a server that accepts and does not shake hands does not hold a dial for
// longer than the patience of an attempt.
func TestPoolTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			t.Cleanup(func() { far.Close() })
			return near, nil
		}
		pool, _, err := Dialer{Dial: silent}.Pool("rediss://master:6379")
		check.OK(t, err)
		s := at(pool)
		begin := time.Now()
		_, err = s.Connect(t.Context(), FirstPatience)
		check.That(t, err == errTLSSilent && errors.Is(err, ErrTimeout), "dial: got %v, want %v", err, errTLSSilent)
		check.Equal(t, time.Since(begin), FirstPatience, "the dial took")
		check.Equal(t, About(err), "reachable", "what hangs may have TLS: it is told of as")
	})
}

// FuzzPool: neither the name nor an error ever has the password in it.
func FuzzPool(f *testing.F) {
	for _, password := range []string{"secret", "sec/ret", "12345/6789", "12345?678", "a#b#c#d", "%zz%zz", "a:b@c:d", "[::1", "://://"} {
		f.Add(password)
	}
	said := []string{"localhost", "not a Redis URL"}
	f.Fuzz(func(t *testing.T, password string) {
		if len(password) < 4 || slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, password) }) {
			t.Skip()
		}
		_, name, err := Dialer{}.Pool("redis://user:" + password + "@localhost:6379/0")
		check.That(t, !strings.Contains(name, password) && !contains(err, password), "Pool with password %q: got %q (%v)", password, name, err)
	})
}

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
	check.Relay(t, listener, strings.TrimPrefix(fleet.URLs()[0], "redis://"))
	const password = "s%2Fe%3Fc%23r%40t"
	testPool(t, m, socket, []poolTest{
		{name: "user", url: "unix://default:" + password + "@" + socket + "?db=0", key: "k"},
		{name: "database", url: "unix://:" + password + "@" + socket + "?db=3"},
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
		{"a function of the caller's", &tls.Config{RootCAs: trusted, VerifyConnection: func(s tls.ConnectionState) error { return errors.New("host " + s.ServerName) }}, "host 127.0.0.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, _, err := Dialer{TLS: tt.config}.Pool("rediss://" + secure)
			check.OK(t, err)
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

// TestCertificateOfADial: a Dial that does TLS by itself has a certificate to be warned of, too.
func TestCertificateOfADial(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer listener.Close()
	secure, trusted := secured(t, listener.Addr().String())
	d := Dialer{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		return (&tls.Dialer{Config: &tls.Config{RootCAs: trusted}}).DialContext(ctx, network, address)
	}}
	c := &Conn{server: new(Server)}
	conn, err := d.dial(context.WithValue(t.Context(), connKey{}, c), "tcp", secure, nil)
	check.OK(t, err)
	defer conn.Close()
	check.Equal(t, c.Certificates[0] != nil, true, "a certificate is known")
}

// secured returns an address that leads to another one, with TLS, and who is to be trusted for that.
func secured(t *testing.T, address string) (secure string, trusted *x509.CertPool) {
	t.Helper()
	certified := httptest.NewTLSServer(nil) // its certificate is for 127.0.0.1 and example.com
	certified.Close()
	trusted = x509.NewCertPool()
	trusted.AddCert(certified.Certificate())
	return check.Secure(t, &tls.Config{Certificates: certified.TLS.Certificates}, address), trusted
}
