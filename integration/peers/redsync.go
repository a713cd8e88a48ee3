package main

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
)

// redsync makes l redsync, with a client for each master that does not retry commands: if the first SET had
// been carried out, the second would be refused. Redsync itself tries again, until the context ends.
func (l *library) redsync(cfg workload.Config, failFast bool) {
	options := []redsync.Option{
		redsync.WithExpiry(cfg.Lease),
		redsync.WithTries(math.MaxInt32),
		redsync.WithFailFast(failFast),
		redsync.WithTimeoutFactor(cfg.NodeTimeout.Seconds() / cfg.Lease.Seconds()),
	}
	var pools []redsyncredis.Pool
	var closers []func() error
	for _, addr := range cfg.Masters {
		client := newClient(cfg, addr, -1)
		pools = append(pools, goredis.NewPool(client))
		closers = append(closers, client.Close)
	}
	locks := redsync.New(pools...)
	l.take = func(ctx context.Context, name string, wait bool) (lock, error) {
		m := locks.NewMutex(name, options...)
		take := m.TryLockContext
		if wait {
			take = m.LockContext
		}
		return lock{until: m.Until, extend: byMajority(m.ExtendContext), unlock: byMajority(m.UnlockContext)}, take(ctx)
	}
	l.kindOf = func(err error, as history.Failure) history.Failure {
		_, refused := errors.AsType[*redsync.ErrTaken](err)
		if _, unanswered := errors.AsType[*redsync.RedisError](err); unanswered && !refused {
			return history.NoQuorum
		}
		return as
	}
	l.close = func() (err error) {
		for _, closeOne := range closers {
			err = errors.Join(err, closeOne())
		}
		return err
	}
}

// byMajority makes an error of what returns whether a majority of the masters did it.
func byMajority(do func(context.Context) (bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		ok, err := do(ctx)
		if ok {
			return nil
		}
		if err == nil {
			err = errors.New("redsync: refused by a majority")
		}
		return err
	}
}
