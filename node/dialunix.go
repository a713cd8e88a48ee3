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
func socketPool(u *url.URL) (pool *redis.Pool, name string, err error) {
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
	options := []redis.DialOption{
		redis.DialDatabase(db),
		redis.DialContextFunc(dialSocket),
		redis.DialReadTimeout(lastPatience), // AUTH and SELECT; commands have their own
	}
	// As in the other URLs, a user without a password is a password.
	user := u.User.Username()
	if password, both := u.User.Password(); both {
		options = append(options, redis.DialUsername(user), redis.DialPassword(password))
	} else {
		options = append(options, redis.DialPassword(user))
	}
	pool = &redis.Pool{
		MaxIdle: 1,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, "unix", u.Path, options...)
		},
	}
	return pool, u.Path, nil
}
