package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
)

// redsyncs is redsync as a library on trial.
type redsyncs struct {
	renewals
	releases
	*redsync.Redsync
	options []redsync.Option
	closers []func() error
}

// openRedsync makes a client for each master that does not retry commands: if the first SET had been
// carried out, the second would be refused. Redsync itself tries again, until the context ends.
func openRedsync(cfg workload.Config, failFast bool) *redsyncs {
	l := &redsyncs{renewals: renewals{cfg.Lease}, releases: releases{limit: 2 * cfg.NodeTimeout}, options: []redsync.Option{
		redsync.WithExpiry(cfg.Lease),
		redsync.WithTries(math.MaxInt32),
		redsync.WithFailFast(failFast),
		redsync.WithTimeoutFactor(cfg.NodeTimeout.Seconds() / cfg.Lease.Seconds()),
	}}
	var pools []redsyncredis.Pool
	for _, addr := range cfg.Masters {
		client := newClient(cfg, addr, -1)
		pools = append(pools, goredis.NewPool(client))
		l.closers = append(l.closers, client.Close)
	}
	l.Redsync = redsync.New(pools...)
	return l
}

func (l *redsyncs) Lock(ctx context.Context, name string) (workload.Hold, error) {
	return l.lock(ctx, name, (*redsync.Mutex).LockContext)
}

func (l *redsyncs) TryLock(ctx context.Context, name string) (workload.Hold, error) {
	return l.lock(ctx, name, (*redsync.Mutex).TryLockContext)
}

func (l *redsyncs) lock(ctx context.Context, name string, take func(*redsync.Mutex, context.Context) error) (workload.Hold, error) {
	m := l.NewMutex(name, l.options...)
	if err := take(m, ctx); err != nil {
		return nil, fail(ctx, err, kindOf(err, history.Taken))
	}
	return &redsyncHold{basis{name}, &l.releases, m}, nil
}

func (l *redsyncs) Close() error {
	l.Wait()
	var all error
	for _, closeOne := range l.closers {
		all = errors.Join(all, closeOne())
	}
	return fail(context.Background(), all, history.Closed)
}

type redsyncHold struct {
	basis
	*releases
	mutex *redsync.Mutex
}

func (h *redsyncHold) Until() time.Time { return h.mutex.Until() }

func (h *redsyncHold) Extend(ctx context.Context) error {
	err := done(ctx, h.mutex.ExtendContext)
	return fail(ctx, err, kindOf(err, history.NoLock))
}

func (h *redsyncHold) Unlock(ctx context.Context) error {
	err := h.release(ctx, func(ctx context.Context) error { return done(ctx, h.mutex.UnlockContext) })
	return fail(ctx, err, kindOf(err, history.NoLock))
}

// done calls what returns whether a majority of the masters did it.
func done(ctx context.Context, do func(context.Context) (bool, error)) error {
	ok, err := do(ctx)
	if ok {
		return nil
	}
	if err == nil {
		err = errors.New("redsync: refused by a majority")
	}
	return err
}

// kindOf returns as for what a majority refused, and NoQuorum for what came of masters that did not answer.
func kindOf(err error, as history.Failure) history.Failure {
	if _, ok := errors.AsType[*redsync.ErrTaken](err); ok {
		return as
	}
	if _, ok := errors.AsType[*redsync.RedisError](err); ok {
		return history.NoQuorum
	}
	return as
}
