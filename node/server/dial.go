package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// Dialer says how connections to a master are made. Its zero value does what the master's URL says.
type Dialer struct {
	// TLS is for rediss:// URLs; nil means the system's certificate authorities. If it has no ServerName, the
	// URL's host is expected in the certificate.
	TLS *tls.Config

	// Credentials returns the user and the password of the next connection to a master, by its name, if its URL
	// has none.
	Credentials func(ctx context.Context, master string) (user, password string, err error)

	// Dial makes the connection under TLS and Redis. Default: TCP, or a Unix socket.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Of tests, which have names and a network of their own.
	find    func(ctx context.Context, network, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Pools returns a pool for each master, and its name in errors and logs: those that are given, whose names are
// "pool 0" and so on, and after them one for each of masters, as [Dialer.Pool] makes it.
func (d Dialer) Pools(given []*redis.Pool, masters []string) (pools []*redis.Pool, names []string, err error) {
	pools = slices.Clone(given)
	for i := range given {
		names = append(names, fmt.Sprintf("pool %d", i))
	}
	for i, address := range masters {
		pool, name, err := d.Pool(address)
		if err != nil {
			return nil, nil, fmt.Errorf("redlock: Config.Masters[%d]: %w", i, err)
		}
		pools, names = append(pools, pool), append(names, name)
	}
	return pools, names, nil
}

// Pool makes a pool for a master from a redis://, rediss:// or unix:// URL, from host:port, or from
// the absolute path of a Unix socket. It also returns the name for errors and logs, which is host:port
// or that path, without the password.
//
// User, password and database come from the URL. Errors do not repeat it.
func (d Dialer) Pool(address string) (pool *redis.Pool, name string, err error) {
	raw := address
	switch {
	case strings.HasPrefix(raw, "/"):
		raw = (&url.URL{Scheme: "unix", Path: raw}).String()
	case !strings.Contains(raw, "://"):
		raw = "redis://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's error may quote the password.
		return nil, "", errors.New("not a Redis URL or host:port (one master per entry, without spaces, IPv6 in brackets; in a password, all but letters and digits must be percent-encoded)")
	}
	network, locate := "tcp", locateHost
	var secure *tls.Config
	switch u.Scheme {
	case "redis":
	case "rediss":
		if secure = d.TLS.Clone(); secure == nil {
			secure = new(tls.Config)
		}
		secure.ServerName = cmp.Or(secure.ServerName, u.Hostname())
	case "unix":
		network, locate = "unix", locateSocket
	default:
		return nil, "", fmt.Errorf("not a Redis URL: scheme %s, want redis, rediss or unix", known(u.Scheme, "http", "https", "tcp", "tls", "valkey", "valkeys", "sentinel"))
	}
	name, database, err := locate(u)
	switch {
	case err != nil:
		return nil, "", err
	case len(name) > longestName: // errors and logs name it
		return nil, "", errors.New("a host or a path to a socket that is longer than any")
	}
	user, password := "", u.User.Username() // a user without a password is a password
	if given, both := u.User.Password(); both {
		user, password = u.User.Username(), given
	}
	return &redis.Pool{MaxIdle: 1, DialContext: func(ctx context.Context) (redis.Conn, error) {
		user, password := user, password
		if d.Credentials != nil && u.User == nil {
			var err error
			if user, password, err = d.Credentials(ctx, name); err != nil {
				return nil, &ownError{what: noCredentials, err: err}
			}
		}
		raw, err := d.dial(ctx, network, name, secure)
		if err != nil {
			return nil, err
		}
		conn := redis.NewConn(raw, lastPatience, 0) // for AUTH and SELECT; commands have their own
		if err := logIn(ctx, conn, user, password, database); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	}}, name, nil
}

// longestName is room for the longest host, of 253 bytes, a zone and a port. A path to a socket has 107 at most.
const longestName = 280

// logIn authenticates a new connection and selects its database. redigo itself would leave out a user that has no
// password, and so connect as the default user.
func logIn(ctx context.Context, conn redis.Conn, user, password string, database int) error {
	var err error
	switch {
	case user != "":
		_, err = redis.DoContext(conn, ctx, "AUTH", user, password)
	case password != "":
		_, err = redis.DoContext(conn, ctx, "AUTH", password)
	}
	if refusal, refused := err.(redis.Error); refused && password == "" {
		return refusal + " (the user was given without a password)"
	}
	if err == nil && database != 0 {
		_, err = redis.DoContext(conn, ctx, "SELECT", database)
		if refusal, refused := err.(redis.Error); refused {
			return lacking("+select", refusal)
		}
	}
	return err
}

// hostPath matches the path of a URL with a host: nothing, or the number of a database.
var hostPath = regexp.MustCompile(`^/?(\d{0,4})$`)

// locateHost returns host:port and database of redis://user:password@host:port/0.
func locateHost(u *url.URL) (address string, database int, err error) {
	if u.Hostname() == "" {
		return "", 0, errors.New("not a Redis URL or host:port: no host")
	}
	if strings.Contains(u.Host, ",") {
		return "", 0, errors.New("not a Redis URL or host:port: a comma in the host; one master per entry")
	}
	// If a password contains / or ?, what follows must not pass for a database, nor what comes
	// before it for a port.
	path := hostPath.FindStringSubmatch(u.Path)
	if path == nil || strings.Contains(u.RawQuery, "@") || u.Fragment != "" {
		return "", 0, errors.New("not a Redis URL: what follows the host is no database number")
	}
	if u.RawQuery != "" {
		parameter, _, _ := strings.Cut(u.RawQuery, "=")
		return "", 0, fmt.Errorf("not a Redis URL: parameter %s is not understood (a database number follows the host: /1)", known(parameter, "db", "database", "password", "user", "username", "timeout", "protocol"))
	}
	if strings.Contains(u.Hostname(), ":") && u.Host[0] != '[' {
		return "", 0, errors.New("not a Redis URL or host:port: more than one colon; an IPv6 address needs brackets")
	}
	port := cmp.Or(u.Port(), "6379")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", 0, errors.New("not a Redis URL or host:port: the port is not from 1 to 65535")
	}
	database, _ = strconv.Atoi(path[1]) // 0 if there is none
	return net.JoinHostPort(u.Hostname(), port), database, nil
}

// known returns word in quotes if it is among words, and otherwise dots: any part of a mistyped URL may be the password.
func known(word string, words ...string) string {
	if slices.Contains(words, word) {
		return strconv.Quote(word)
	}
	return "…"
}

// socketQuery matches the query of a unix:// URL: nothing, or the number of a database. Its path takes
// the place where the other URLs have that number.
var socketQuery = regexp.MustCompile(`^(?:db=(\d{1,4}))?$`)

// locateSocket returns path and database of unix://user:password@/path/to/redis.sock?db=0.
func locateSocket(u *url.URL) (path string, database int, err error) {
	query := socketQuery.FindStringSubmatch(u.RawQuery)
	switch {
	case u.Host != "":
		return "", 0, errors.New("not the URL of a Unix socket: want unix:// and an absolute path, so three slashes")
	case u.Path == "" || strings.HasSuffix(u.Path, "/"):
		return "", 0, errors.New("not the URL of a Unix socket: no path to a socket")
	case query == nil || u.Fragment != "":
		return "", 0, errors.New("not the URL of a Unix socket: what follows the path is not ?db= and a number")
	}
	database, _ = strconv.Atoi(query[1]) // 0 if there is none
	return u.Path, database, nil
}

// dial makes a connection on which replies are checked before redigo reads them. It uses TLS if secure is
// not nil. If redigo did that, it would read replies that nothing has checked.
func (d Dialer) dial(ctx context.Context, network, address string, secure *tls.Config) (net.Conn, error) {
	raw, err := d.reach(ctx, network, address)
	if err != nil {
		return nil, err
	}
	to, _ := ctx.Value(connKey{}).(*Conn)
	to = cmp.Or(to, new(Conn))
	if secure == nil {
		if conn, ok := raw.(*tls.Conn); ok { // Dial does it
			to.noteServer(conn.ConnectionState())
		}
		return newFramedConn(ctx, raw, network == "tcp"), nil
	}
	conn := tls.Client(raw, noting(to, secure))
	ctx, cancel := context.WithTimeout(ctx, lastPatience)
	defer cancel()
	if err := conn.HandshakeContext(ctx); err != nil {
		raw.Close()
		if isTimeout(err) || context.Cause(ctx) == ErrTimeout {
			err = errTLSSilent
		}
		return nil, err
	}
	return newFramedConn(ctx, conn, false), nil
}
