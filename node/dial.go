package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// dialTimeout bounds one attempt to connect. It is not Config.Timeout: a handshake of
// TCP and TLS takes several round trips, and nobody waits for it.
const dialTimeout = time.Second

// database is the path of a URL: none, or a database number.
var database = regexp.MustCompile(`^(/\d{0,4})?$`)

// Pool makes a pool for a master from a redis:// or rediss:// URL or from host:port, and
// the name the master goes by, which has no password in it.
//
// Of the URL, redigo takes user, password and database. Errors do not repeat it.
func Pool(address string, writeTimeout time.Duration) (pool *redis.Pool, name string, err error) {
	raw := address
	if !strings.Contains(raw, "://") {
		raw = "redis://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		// What the parser says may quote the password.
		return nil, "", errors.New("not a Redis URL or host:port (in a password, all but letters and digits must be percent-encoded)")
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, "", fmt.Errorf("not a Redis URL: scheme %q, want redis or rediss", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, "", errors.New("not a Redis URL or host:port: no host")
	}
	// The rest of a password that was cut off by its first / or ? must not be taken for
	// a database, and its start not for a port.
	if !database.MatchString(u.Path) || strings.Contains(u.RawQuery+u.Fragment, "@") {
		return nil, "", errors.New("not a Redis URL: what follows the host is no database number")
	}
	u.Host = net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379"))
	pool = &redis.Pool{
		MaxIdle: 1,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialURLContext(ctx, u.String(),
				redis.DialConnectTimeout(dialTimeout),
				redis.DialTLSHandshakeTimeout(dialTimeout),
				redis.DialReadTimeout(dialTimeout), // AUTH and SELECT; commands have their own
				redis.DialWriteTimeout(writeTimeout))
		},
	}
	return pool, u.Host, nil
}
