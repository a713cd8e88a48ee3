package node

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// socketQuery matches the query of a unix:// URL: nothing, or the number of a database. Its path takes
// the place where the other URLs have that number.
var socketQuery = regexp.MustCompile(`^(db=(\d{1,4}))?$`)

// socketPool makes a pool for unix://user:password@/path/to/redis.sock?db=0.
func (d Dialer) socketPool(u *url.URL) (pool *redis.Pool, name string, err error) {
	query := socketQuery.FindStringSubmatch(u.RawQuery)
	switch {
	case u.Host != "":
		return nil, "", errors.New("not the URL of a Unix socket: want unix:// and an absolute path, so three slashes")
	case u.Path == "" || strings.HasSuffix(u.Path, "/"):
		return nil, "", errors.New("not the URL of a Unix socket: no path to a socket")
	case query == nil || u.Fragment != "":
		return nil, "", errors.New("not the URL of a Unix socket: what follows the path is not ?db= and a number")
	}
	db, _ := strconv.Atoi(query[2]) // 0 if there is none
	fixed := []redis.DialOption{redis.DialDatabase(db)}
	// As in the other URLs, a user without a password is a password.
	user := u.User.Username()
	if password, both := u.User.Password(); both {
		fixed = append(fixed, redis.DialUsername(user), redis.DialPassword(password))
	} else if user != "" {
		fixed = append(fixed, redis.DialPassword(user))
	}
	return d.pool(u.Path, d.dialSocket, func(ctx context.Context, options ...redis.DialOption) (redis.Conn, error) {
		return redis.DialContext(ctx, "unix", u.Path, append(options, fixed...)...)
	}), u.Path, nil
}
