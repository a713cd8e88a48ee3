package node

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

func TestPoolName(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{"localhost:6379", "localhost:6379"},
		{"localhost", "localhost:6379"},
		{"10.0.0.1:7000", "10.0.0.1:7000"},
		{"redis://10.0.0.1", "10.0.0.1:6379"},
		{"redis://10.0.0.1:", "10.0.0.1:6379"},
		{"redis://10.0.0.1:7000/", "10.0.0.1:7000"},
		{"redis://10.0.0.1:7000/3", "10.0.0.1:7000"},
		{"rediss://redis.example.com:7000", "redis.example.com:7000"},
		{"redis://user:password@redis.example.com/3", "redis.example.com:6379"},
		{"redis://:password@redis.example.com", "redis.example.com:6379"},
		{"user:password@redis.example.com", "redis.example.com:6379"},
		{"redis://:p%2Fa%3Fs%23s%40@redis.example.com", "redis.example.com:6379"},
		{"redis://10.0.0.1:65535/0?", "10.0.0.1:65535"},
		{"redis://:p,a:s@10.0.0.1:1", "10.0.0.1:1"},
		{"[::1]:7000", "[::1]:7000"},
		{"[::1]", "[::1]:6379"},
		{"redis://user:password@[fe80::1%25eth0]:7000/3", "[fe80::1%eth0]:7000"},
		{"unix:///run/redis.sock", "/run/redis.sock"},
		{"unix://user:password@/run/redis.sock?db=3", "/run/redis.sock"},
		{"/run/redis 1?.sock", "/run/redis 1?.sock"},
	} {
		t.Run(tt.address, func(t *testing.T) {
			_, name, err := Dialer{}.Pool(tt.address)
			if err != nil || name != tt.want {
				t.Errorf("Pool(%q): got %q (%v), want %q", tt.address, name, err, tt.want)
			}
		})
	}
}

// TestPoolErrors: they say what is wrong and repeat nothing that may be a password, also
// where it has characters that should have been escaped.
func TestPoolErrors(t *testing.T) {
	for _, tt := range []struct{ address, want string }{
		{"", "no host"},
		{"redis://", "no host"},
		{":6379", "no host"},
		{"redis:localhost:6379://", "no host"},
		{"http://localhost:6379", `scheme "http", want redis, rediss or unix`},
		{"unix://run/redis.sock", "three slashes"},
		{"unix://", "no path to a socket"},
		{"unix:///run/", "no path to a socket"},
		{"unix:///run/redis.sock?db=first", "not ?db= and a number"},
		{"unix://user:abc@/run/redis.sock?password=678", "not ?db= and a number"},
		{"unix://:123/45@/run/redis.sock", "three slashes"},
		{"unix://:abc/45@/run/redis.sock", "percent-encoded"},
		{"localhost:port", "not a Redis URL or host:port"},
		{"localhost:0", "the port is not from 1 to 65535"},
		{"localhost:65536", "the port is not from 1 to 65535"},
		{"localhost:99999999999999999999", "the port is not from 1 to 65535"},
		{"redis://user:12345@[::1]:0/1", "the port is not from 1 to 65535"},
		{"a,b", "one master per entry"},
		{"a:1,b", "one master per entry"},
		{"a:1,b:2,c:3", "one master per entry"},
		{"redis://:12345@a:1,b:2/0", "one master per entry"},
		{"redis://:12345@a:1,redis://:67890@b:2", "one master per entry"},
		{"::1", "brackets"},
		{"redis://user:12345@::1/0", "brackets"},
		{"fe80::a", "brackets"},
		{"a:b:1", "more than one colon"},
		{"redis://localhost:6379?db=678", `parameter "db" is not understood`},
		{"user:12345@localhost/0?db=678&password=678", `parameter "db" is not understood`},
		{"redis://localhost:6379#678", "no database number"},
		{"redis://user:99123/67890@localhost", "no database number"},
		{"redis://localhost:6379/first", "no database number"},
		{"redis://localhost:6379/1/2", "no database number"},
		{"redis://localhost:6379/99999999999999999999", "no database number"},
		{"redis://user:12345/67890@localhost", "no database number"},
		{"redis://user:12345?67890@localhost", "no database number"},
		{"redis://user:12345#67890@localhost", "no database number"},
		{"redis://user:12345%zz67890@localhost", "percent-encoded"},
		{"redis://user:abcde/12345@localhost", "percent-encoded"},
		{"redis://user:12345[67890@localhost", "percent-encoded"},
		{"user:12345 67890@localhost", "percent-encoded"},
		{"redis://:12345\x0067890@localhost", "percent-encoded"},
	} {
		t.Run(tt.address, func(t *testing.T) {
			pool, name, err := Dialer{}.Pool(tt.address)
			if err == nil {
				t.Fatalf("Pool(%q): got %q, want an error", tt.address, name)
			}
			if pool != nil || name != "" || !contains(err, tt.want) {
				t.Errorf("Pool(%q): got %v, %q, error %q, want one with %q", tt.address, pool, name, err, tt.want)
			}
			for _, secret := range []string{"123", "678", "abc"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("Pool(%q): its error tells of the password: %q", tt.address, err)
				}
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
		{name: "credentials", url: address, dialer: credentials("s/e?c#r@t", nil), key: "k"},
		{name: "credentials and database", url: "redis://" + address + "/3", dialer: credentials("s/e?c#r@t", nil)},
		{name: "wrong credentials", url: address, dialer: credentials("wrong", nil), want: "WRONGPASS"},
		{name: "no credentials", url: address, dialer: credentials("", errors.New("the vault is shut")), want: "no credentials: the vault is shut"},
		{name: "tunnel", url: "redis://:" + password + "@" + address, dialer: Dialer{Dial: func(ctx context.Context, network, to string) (net.Conn, error) {
			if network != "tcp" || to != address {
				t.Errorf("Dial(%q, %q), want tcp and %q", network, to, address)
			}
			return m.Dial(ctx)
		}}, key: "k"},
	})
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
				if !contains(err, tt.want) || contains(err, "s/e") {
					t.Errorf("SET: got %v, want an error with %s", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatalf("SET: %v", err)
			}
			if got := strings.Join(m.Keys(), " "); got != tt.key {
				t.Errorf("keys in database 0: got %q, want %q", got, tt.key)
			}
		})
	}
}

// TestPoolTLS: a server that accepts and does not shake hands does not hold a dial for
// longer than the patience of an attempt.
func TestPoolTLS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	pool, _, err := Dialer{}.Pool("rediss://" + listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{cfg: Config{Pool: pool, Timeout: timeout}}
	begin := time.Now()
	_, err = n.borrow(t.Context(), firstPatience)
	if err != errTLSSilent || !errors.Is(err, ErrTimeout) {
		t.Errorf("dial: got %v, want %v", err, errTLSSilent)
	}
	if got := time.Since(begin); got > 3*firstPatience {
		t.Errorf("dial: took %v, want about %v", got, firstPatience)
	}
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
		if strings.Contains(name, password) || contains(err, password) {
			t.Errorf("Pool with password %q: got %q (%v)", password, name, err)
		}
	})
}

// bareConn is a connection without redis.ConnWithContext, as wrappers from before it are.
type bareConn struct{ redis.ConnWithTimeout }

// TestConnectionsThatLackAnInterface: a pool whose connections cannot be given up is refused, in plain
// words, and once.
func TestConnectionsThatLackAnInterface(t *testing.T) {
	for name, wrap := range map[string]func(redis.Conn) redis.Conn{
		"no context": func(c redis.Conn) redis.Conn { return bareConn{c.(redis.ConnWithTimeout)} },
		"neither":    func(c redis.Conn) redis.Conn { return struct{ redis.Conn }{c} },
		"no context, with logging": func(c redis.Conn) redis.Conn {
			return redis.NewLoggingConn(bareConn{c.(redis.ConnWithTimeout)}, slog.NewLogLogger(slog.DiscardHandler, 0), "")
		},
	} {
		subtest(t, name, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var log logRecorder
			cfg.Logger = log.logger()
			cfg.Pool = withWrappedConns(cfg.Pool, wrap)
			n := start(t, cfg)
			n.Subscribe("a", new(recorder), 7)
			wantErr(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Unsent, errConn.Error())
			time.Sleep(10 * time.Second)
			n.Close()
			log.want(t, 1, "ConnWithContext")
			cfg.Pool.Close()
			synctest.Wait()
			if got := m.Connections(); got != 0 {
				t.Errorf("connections: got %d, want none", got)
			}
		})
	}
}
