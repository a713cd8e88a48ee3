package main

import (
	"context"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// singles are locks on a single master. They are less safe, and serve as a yardstick for speed.
var singles = []contender{
	{name: "bsm/1", masters: 1, open: openBSM},
	{name: "rueidislock/1", masters: 1, open: openRueidis},
}

type bsmClient struct {
	locks *redislock.Client
	redis *goredis.Client
	lease time.Duration
}

func openBSM(addresses []string, lease time.Duration) (client, error) {
	c := goredisClient(addresses[0])
	return &bsmClient{locks: redislock.New(c), redis: c, lease: lease}, nil
}

// Lock retries every 100 ms, as in bsm's documentation.
func (c *bsmClient) Lock(ctx context.Context, name string) (hold, error) {
	l, err := c.locks.Obtain(ctx, name, c.lease, &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)})
	return bsmHold{l, c.lease}, err
}

func (c *bsmClient) Close() error { return c.redis.Close() }

type bsmHold struct {
	*redislock.Lock
	lease time.Duration
}

func (h bsmHold) Unlock(ctx context.Context) error { return h.Release(ctx) }

func (h bsmHold) Extend(ctx context.Context) error { return h.Refresh(ctx, h.lease, nil) }

type rueidisClient struct{ rueidislock.Locker }

// openRueidis makes a locker that renews every third of the lease, as the other contenders do.
func openRueidis(addresses []string, lease time.Duration) (client, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: addresses},
		KeyMajority:    1,
		KeyValidity:    lease,
		ExtendInterval: lease / 3,
		TryNextAfter:   patience,
		NoLoopTracking: true,
	})
	return rueidisClient{l}, err
}

func (c rueidisClient) Lock(ctx context.Context, name string) (hold, error) {
	held, release, err := c.WithContext(ctx, name)
	return rueidisHold{ctx, held, release}, err
}

func (c rueidisClient) Close() error {
	c.Locker.Close()
	return nil
}

// rueidisHold also ends with the context that Lock was given, which does not count as a loss.
type rueidisHold struct {
	asked, held context.Context
	release     context.CancelFunc
}

func (h rueidisHold) Unlock(context.Context) error {
	lost := h.held.Err() != nil && h.asked.Err() == nil
	h.release()
	if lost {
		return errLost
	}
	return nil
}
