package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	overgoredis "github.com/go-redsync/redsync/v4/redis/goredis/v9"
	overredigo "github.com/go-redsync/redsync/v4/redis/redigo"
	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

// redsyncs are redsync over two Redis clients. With fail-fast a caller returns at the third of five
// answers; without it, a caller waits for all five.
var redsyncs = []contender{
	redsyncContender("redsync-ff", redigoPool, true),
	redsyncContender("redsync", redigoPool, false),
	redsyncContender("redsync-ff/go", goredisPool, true),
}

func redsyncContender(name string, pool makePool, failFast bool) contender {
	return contender{
		name:    name,
		masters: mastersN,
		plain:   []string{"set"},
		open: func(addresses []string, lease time.Duration) (client, error) {
			c := &redsyncClient{options: []redsync.Option{
				redsync.WithExpiry(lease), redsync.WithFailFast(failFast), redsync.WithTries(math.MaxInt32),
				redsync.WithTimeoutFactor(patience.Seconds() / lease.Seconds()),
			}}
			var pools []redsyncredis.Pool
			for _, address := range addresses {
				p, closer := pool(address)
				pools = append(pools, p)
				c.closers = append(c.closers, closer)
			}
			c.redsync = redsync.New(pools...)
			return c, nil
		},
	}
}

// makePool returns a pool of connections to one master, and the function that closes it.
type makePool func(address string) (redsyncredis.Pool, func() error)

func redigoPool(address string) (redsyncredis.Pool, func() error) {
	pool := &redis.Pool{
		MaxIdle: maxCallers,
		Dial: func() (redis.Conn, error) {
			return redis.Dial("tcp", address, redis.DialConnectTimeout(patience),
				redis.DialReadTimeout(patience), redis.DialWriteTimeout(patience))
		},
	}
	return overredigo.NewPool(pool), pool.Close
}

func goredisPool(address string) (redsyncredis.Pool, func() error) {
	pool := goredisClient(address)
	return overgoredis.NewPool(pool), pool.Close
}

// goredisClient does not retry commands: if the first had taken the lock, the second would be
// refused.
func goredisClient(address string) *goredis.Client {
	logging.Disable() // it logs every connection that is lost to a frozen master
	return goredis.NewClient(&goredis.Options{
		Addr: address, PoolSize: maxCallers, MaxRetries: -1,
		DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
	})
}

type redsyncClient struct {
	redsync *redsync.Redsync
	options []redsync.Option
	closers []func() error
}

func (c *redsyncClient) Lock(ctx context.Context, name string) (hold, error) {
	m := c.redsync.NewMutex(name, c.options...)
	return redsyncHold{m}, m.LockContext(ctx)
}

func (c *redsyncClient) Close() error {
	var err error
	for _, closer := range c.closers {
		err = errors.Join(err, closer())
	}
	return err
}

type redsyncHold struct{ *redsync.Mutex }

func (h redsyncHold) Unlock(ctx context.Context) error { return mustOK(h.UnlockContext(ctx)) }

func (h redsyncHold) Extend(ctx context.Context) error { return mustOK(h.ExtendContext(ctx)) }

func mustOK(ok bool, err error) error {
	if err == nil && !ok {
		return errLost
	}
	return err
}
