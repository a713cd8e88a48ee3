package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
)

// retry is how often a waiter asks, as in the library's examples.
const retry = 100 * time.Millisecond

// forever is later than any trial. Without a deadline, Obtain would give up after one lease.
const forever = 24 * time.Hour

// single makes l bsm/redislock, with a client that retries commands, as it does by default: a repeated command
// of this library does no harm.
func (l *library) single(cfg workload.Config) {
	client := newClient(cfg, cfg.Masters[0], 0)
	locks := redislock.New(client)
	l.close = client.Close
	l.take = func(ctx context.Context, name string, wait bool) (lock, error) {
		options := &redislock.Options{}
		if wait {
			options.RetryStrategy = redislock.LinearBackoff(retry)
		}
		bounded, cancel := context.WithTimeout(ctx, forever)
		defer cancel()
		taken, err := locks.Obtain(bounded, name, l.lease, options)
		if err != nil {
			return lock{}, err
		}
		// Obtain does not tell when it sent the command that succeeded. So ask how long the lock has still to
		// live, as the library's examples do.
		asked := time.Now()
		left, err := taken.TTL(ctx)
		if err != nil {
			_ = l.release(ctx, taken.Release)
			return lock{}, err
		}
		until := asked.Add(left)
		return lock{
			until: func() time.Time { return until },
			extend: func(ctx context.Context) error {
				asked := time.Now()
				err := taken.Refresh(ctx, l.lease, nil)
				if err == nil {
					until = asked.Add(l.lease)
				}
				return err
			},
			unlock: taken.Release,
		}, nil
	}
	l.kindOf = func(err error, as history.Failure) history.Failure {
		if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld) {
			return as
		}
		return history.NoQuorum
	}
}
