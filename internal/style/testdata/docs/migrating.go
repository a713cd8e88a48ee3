//module bench
//tables

package docs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis/rueidislock"

	"example.com/redlock/redlock"
)

var (
	client  *redlock.Client
	hold    *redlock.Hold
	masters []string
	wait    context.Context

	rs                  *redsync.Redsync
	m                   *redsync.Mutex
	pool1, pool2, pool3 redis.Pool
	taken               *redsync.ErrTaken
	gen                 func() (string, error)
	value               string

	rdb    *goredis.Client
	locker *redislock.Client
	lock   *redislock.Lock
	retry  redislock.RetryStrategy

	rueidis rueidislock.Locker
	cancel  context.CancelFunc

	lease, ttl, delay time.Duration
	err               error
)

func ship(context.Context) error { return nil }
