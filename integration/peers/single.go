package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
)

// single is bsm/redislock as a library on trial.
type single struct {
	renewals
	releases
	redis *redis.Client
	locks *redislock.Client
}

// retry is how often a waiter asks, as in the library's examples.
const retry = 100 * time.Millisecond

// forever is later than any trial. Without a deadline, Obtain would give up after one lease.
const forever = 24 * time.Hour

// openSingle makes a client that retries commands, as it does by default: a repeated command of this
// library does no harm.
func openSingle(cfg workload.Config) *single {
	client := newClient(cfg, cfg.Masters[0], 0)
	return &single{
		renewals: renewals{cfg.Lease}, releases: releases{limit: 2 * cfg.NodeTimeout},
		redis: client, locks: redislock.New(client),
	}
}

func (l *single) Lock(ctx context.Context, name string) (workload.Hold, error) {
	return l.obtain(ctx, name, &redislock.Options{RetryStrategy: redislock.LinearBackoff(retry)})
}

func (l *single) TryLock(ctx context.Context, name string) (workload.Hold, error) {
	return l.obtain(ctx, name, nil)
}

// obtain asks how long the lock has still to live, as the library's examples do: Obtain does not tell when
// it sent the command that succeeded.
func (l *single) obtain(ctx context.Context, name string, options *redislock.Options) (workload.Hold, error) {
	bounded, cancel := context.WithTimeout(ctx, forever)
	defer cancel()
	lock, err := l.locks.Obtain(bounded, name, l.lease, options)
	if err != nil {
		return nil, fail(ctx, err, singleKind(err, history.Taken))
	}
	asked := time.Now()
	left, err := lock.TTL(ctx)
	if err != nil {
		_ = l.release(ctx, lock.Release)
		return nil, fail(ctx, err, history.NoQuorum)
	}
	return &singleHold{basis{name}, &l.releases, l.lease, lock, asked.Add(left)}, nil
}

func (l *single) Close() error {
	l.Wait()
	return fail(context.Background(), l.redis.Close(), history.Closed)
}

type singleHold struct {
	basis
	*releases
	lease time.Duration
	lock  *redislock.Lock
	until time.Time
}

func (h *singleHold) Until() time.Time { return h.until }

func (h *singleHold) Extend(ctx context.Context) error {
	asked := time.Now()
	err := h.lock.Refresh(ctx, h.lease, nil)
	if err == nil {
		h.until = asked.Add(h.lease)
	}
	return fail(ctx, err, singleKind(err, history.NoLock))
}

func (h *singleHold) Unlock(ctx context.Context) error {
	err := h.release(ctx, h.lock.Release)
	return fail(ctx, err, singleKind(err, history.NoLock))
}

// singleKind returns as for what the master refused, and NoQuorum for a master that did not answer.
func singleKind(err error, as history.Failure) history.Failure {
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld) {
		return as
	}
	return history.NoQuorum
}
