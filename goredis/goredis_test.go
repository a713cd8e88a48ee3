package goredis_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"

	"example.com/redlock/goredis"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
	"example.com/redlock/redlock"
)

// server is a redis-server with a password, on a port and a socket.
type server struct {
	address, socket string
	*redis.Client
}

func start(t *testing.T) *server {
	t.Helper()
	port, dir := redisserver.Start(t, func(_, dir string) []string {
		return []string{"--unixsocket", filepath.Join(dir, "redis.sock"), "--requirepass", "secret"}
	})
	s := &server{address: "127.0.0.1:" + port, socket: filepath.Join(dir, "redis.sock")}
	s.Client = redis.NewClient(&redis.Options{Addr: s.address, Password: "secret"})
	t.Cleanup(func() { s.Close() })
	return s
}

// open makes a client of masters with these options.
func open(t *testing.T, options ...*redis.Options) *redlock.Client {
	t.Helper()
	cfg, err := goredis.Config(options...)
	check.OK(t, err)
	cfg.RestartGuard = redlock.GuardOff
	c, err := redlock.New(cfg)
	check.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// The options lead to the database that they name, however they get there.
func TestConfig(t *testing.T) {
	s := start(t)
	pair, trusted := check.Certificate(t, x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, nil), x509.NewCertPool()
	trusted.AddCert(pair.Leaf)
	secure := check.Secure(t, &tls.Config{Certificates: []tls.Certificate{*pair}}, s.address)
	asked := context.Canceled
	check.OK(t, s.Do(t.Context(), "ACL", "SETUSER", "nobody", "on", "nopass", "~*", "&*", "+@all").Err())
	for _, tt := range []struct {
		name    string
		options redis.Options
	}{
		{"address", redis.Options{Addr: s.address, Password: "secret", DB: 1}},
		{"user", redis.Options{Network: "tcp", Addr: s.address, Username: "default", Password: "secret", DB: 1}},
		{"socket", redis.Options{Network: "unix", Addr: s.socket, Password: "secret", DB: 1}},
		{"path", redis.Options{Addr: s.socket, Password: "secret", DB: 1}},
		{"TLS", redis.Options{Addr: secure, Password: "secret", DB: 1, TLSConfig: &tls.Config{RootCAs: trusted}}},
		{"TLS and a function", redis.Options{Addr: secure, Password: "secret", DB: 1, TLSConfig: &tls.Config{
			InsecureSkipVerify: true,
			VerifyConnection: func(s tls.ConnectionState) error {
				if s.ServerName == "" {
					return errors.New("which host?")
				}
				_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{DNSName: s.ServerName, Roots: trusted})
				return err
			},
		}}},
		{"client with TLS", *optionsOf(t, &redis.Options{Addr: secure, Password: "secret", DB: 1, TLSConfig: &tls.Config{RootCAs: trusted}})},
		{"client", *optionsOf(t, &redis.Options{Addr: s.address, Password: "secret", DB: 1})},
		{"user without a password", redis.Options{Addr: s.address, Username: "nobody", DB: 1}},
		{"dialer", redis.Options{Addr: "the.tunnel:1", Password: "secret", DB: 1, Dialer: func(ctx context.Context, _, to string) (net.Conn, error) {
			check.Equal(t, to, "the.tunnel:1", "where Dialer is asked to lead")
			return new(net.Dialer).DialContext(ctx, "tcp", s.address)
		}}},
		{"provider", redis.Options{Addr: s.address, DB: 1, Password: "not this", CredentialsProvider: func() (string, string) { return "", "secret" }}},
		{"provider with a context", redis.Options{
			Addr: s.address, DB: 1, CredentialsProvider: func() (string, string) { return "", "not this" },
			CredentialsProviderContext: func(ctx context.Context) (string, string, error) { asked = ctx.Err(); return "", "secret", nil },
		}},
		{"streaming provider", redis.Options{Addr: s.address, DB: 1, Password: "not this", StreamingCredentialsProvider: stream{}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := open(t, &tt.options)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			hold, err := c.Lock(ctx, "orders:42")
			check.OK(t, err)
			there := redis.NewClient(&redis.Options{Addr: s.address, Password: "secret", DB: 1})
			defer there.Close()
			if owner := there.HKeys(ctx, "orders:42").Val(); len(owner) != 1 || owner[0] != hold.Owner() {
				t.Errorf("database 1 has %q, want %q", owner, hold.Owner())
			}
			check.OK(t, hold.Unlock(ctx))
		})
	}
	check.OK(t, asked, "the context of the provider")
}

// optionsOf returns the options of a client that runs, with what go-redis fills in.
func optionsOf(t *testing.T, o *redis.Options) *redis.Options {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c.Options()
}

// A master that was added to the Config is refused in plain words, and the others are used.
func TestMasterAddedLater(t *testing.T) {
	s := start(t)
	for name, o := range map[string]*redis.Options{
		"as it is": {Addr: s.address, Password: "secret"},
		"client":   optionsOf(t, &redis.Options{Addr: s.address, Password: "secret"}),
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := goredis.Config(o)
			check.OK(t, err)
			cfg.Masters = append(cfg.Masters, "other.test:6379")
			cfg.RestartGuard = redlock.GuardOff
			c, err := redlock.New(cfg)
			check.OK(t, err)
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			check.Says(t, c.Ready(ctx), "no options for other.test:6379", "Ready")
		})
	}
}

// A password that changes is asked for with the next connection, as the certificate is that it trusts, and nobody loses
// a hold.
func TestPasswordThatChanges(t *testing.T) {
	for _, name := range []string{"plain", "TLS"} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			var password atomic.Value
			var certificate atomic.Pointer[tls.Certificate]
			o := &redis.Options{Addr: s.address, CredentialsProvider: func() (string, string) { return "", password.Load().(string) }}
			password.Store("secret")
			change := func() { // to one of nobody else's
				certificate.Store(check.Certificate(t, x509.Certificate{IsCA: true, BasicConstraintsValid: true}, nil))
			}
			change()
			if name == "TLS" {
				o.Addr = check.Secure(t, &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Load(), nil }}, s.address)
				o.TLSConfig = &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
					return certificate.Load().Leaf.CheckSignatureFrom(s.PeerCertificates[0])
				}}
			}
			c := open(t, o)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			hold, err := c.Lock(ctx, "orders:42")
			check.OK(t, err)
			check.OK(t, s.ConfigSet(ctx, "requirepass", "the next").Err())
			password.Store("the next")
			change()
			check.OK(t, s.Do(ctx, "CLIENT", "KILL", "TYPE", "normal").Err())
			other, err := c.Lock(ctx, "orders:43")
			check.OK(t, err)
			check.OK(t, errors.Join(hold.Unlock(ctx), other.Unlock(ctx)))
		})
	}
}

func TestConfigRefuses(t *testing.T) {
	for want, o := range map[string]*redis.Options{
		"options 1: nil":     nil,
		"Limiter":            {Limiter: limiter{}},
		"OnConnect":          {OnConnect: func(context.Context, *redis.Conn) error { return nil }},
		`network "udp"`:      {Network: "udp", Addr: "a:1"},
		"missing port in ad": {Addr: "a"},
	} {
		_, err := goredis.Config(&redis.Options{Addr: "a:1"}, o)
		check.Says(t, err, want, "Config")
	}
	cfg, err := goredis.Config(&redis.Options{}, &redis.Options{Addr: ":6379"})
	check.OK(t, err)
	_, err = redlock.New(cfg)
	check.Says(t, err, "same master twice", "New with one address twice")
}

type limiter struct{}

func (limiter) Allow() error       { return errors.New("not now") }
func (limiter) ReportResult(error) {}

// stream is a provider that tells of one password.
type stream struct{}

func (stream) Subscribe(auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	return auth.NewBasicCredentials("", "secret"), func() error { return nil }, nil
}
