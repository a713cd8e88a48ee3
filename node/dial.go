package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// dialTimeout bounds one attempt to connect. It is not Config.Timeout: a handshake of
// TCP and TLS takes several round trips, and nobody waits for it.
const dialTimeout = time.Second

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
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return nil, "", fmt.Errorf("not a Redis URL or host:port: %w", err)
	}
	if u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, "", fmt.Errorf("not a Redis URL: scheme %q, want redis or rediss", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, "", errors.New("not a Redis URL or host:port: no host")
	}
	port := u.Port()
	if port == "" {
		port = "6379"
	}
	pool = &redis.Pool{
		MaxIdle: 1,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialURLContext(ctx, raw,
				redis.DialConnectTimeout(dialTimeout),
				redis.DialReadTimeout(dialTimeout), // AUTH and SELECT; commands have their own
				redis.DialWriteTimeout(writeTimeout))
		},
	}
	return pool, net.JoinHostPort(u.Hostname(), port), nil
}
