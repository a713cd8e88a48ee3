//module bench
//tables

package docs

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis/rueidislock"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

var (
	client  *redlock.Client
	hold    *redlock.Hold
	masters []string
	wait    context.Context

	rs                  *redsync.Redsync
	m                   *redsync.Mutex
	pool1, pool2, pool3 redsyncredis.Pool
	taken               *redsync.ErrTaken
	gen                 func() (string, error)
	value               string

	rdb    *redis.Client
	locker *redislock.Client
	lock   *redislock.Lock
	retry  redislock.RetryStrategy

	rueidis rueidislock.Locker
	cancel  context.CancelFunc

	lease, delay time.Duration
	err          error
)

func ship(context.Context) error { return nil }
