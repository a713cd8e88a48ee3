// Command peers is the client process of a trial of other libraries: see package workload. Config.Locker says
// which:
//
//   - redsync is go-redsync/redsync over go-redis, as its README has it. A caller waits for the answers of
//     all masters.
//   - redsync-ff is the same with WithFailFast(true): a caller returns at a majority's answers.
//   - single is bsm/redislock: a lock on the first master alone.
//
// Each adapter does what the library's documentation tells a careful user to do, and what makes it safer or
// quicker without changing the library. None of the libraries has fencing tokens or a signal of loss, so a
// hold counts as valid until the time that the library tells. None renews by itself, so callers extend
// their holds every third of the lease, as this library does.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/history"
)

func main() {
	logging.Disable() // it logs each connection that is lost
	workload.Main(open, classify)
}

func open(cfg workload.Config) (workload.Locker, error) {
	l := &library{lease: cfg.Lease, limit: 2 * cfg.NodeTimeout}
	switch cfg.Locker {
	case "redsync":
		l.redsync(cfg, false)
	case "redsync-ff":
		l.redsync(cfg, true)
	case "single":
		l.single(cfg)
	default:
		return nil, fmt.Errorf("no locker %s: it can be redsync, redsync-ff or single", cfg.Locker)
	}
	return l, nil
}

// newClient returns a client of one master. A command takes no longer than its context, nor than a master
// may take to answer.
func newClient(cfg workload.Config, addr string, retries int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  addr,
		ContextTimeoutEnabled: true,
		MaxRetries:            retries,
		DialerRetries:         1,
		PoolSize:              2 * cfg.Callers, // nobody waits for a connection
		DialTimeout:           cfg.NodeTimeout,
		ReadTimeout:           cfg.NodeTimeout,
		WriteTimeout:          cfg.NodeTimeout,
	})
}

// library is one of those on trial. Callers renew its holds.
type library struct {
	lease time.Duration
	take  func(ctx context.Context, name string, wait bool) (lock, error)
	// kindOf returns as for what the masters refused, and NoQuorum for masters that did not answer.
	kindOf func(err error, as history.Failure) history.Failure
	close  func() error

	limit    time.Duration  // of a release: enough for a command and its repetition
	releases sync.WaitGroup // that are under way
}

// lock is one that a library has taken.
type lock struct {
	until          func() time.Time
	extend, unlock func(context.Context) error
}

func (l *library) Lock(ctx context.Context, name string) (workload.Hold, error) {
	return l.hold(ctx, name, true)
}

func (l *library) TryLock(ctx context.Context, name string) (workload.Hold, error) {
	return l.hold(ctx, name, false)
}

func (l *library) hold(ctx context.Context, name string, wait bool) (workload.Hold, error) {
	taken, err := l.take(ctx, name, wait)
	if err != nil {
		return nil, l.fail(ctx, err, history.Taken)
	}
	return hold{l, name, taken}, nil
}

func (l *library) ExtendEvery() time.Duration { return l.lease / 3 }

func (l *library) Close() error {
	l.releases.Wait()
	if err := l.close(); err != nil {
		return failure{history.Closed, err}
	}
	return nil
}

// hold is a lock of a library as callers have it.
type hold struct {
	library *library
	name    string
	lock    lock
}

func (h hold) Name() string           { return h.name }
func (hold) Slot() int                { return 0 }
func (hold) Token() int64             { return 0 }
func (hold) Context() context.Context { return nil }
func (h hold) Until() time.Time       { return h.lock.until() }

func (h hold) Extend(ctx context.Context) error {
	return h.library.fail(ctx, h.lock.extend(ctx), history.NoLock)
}

func (h hold) Unlock(ctx context.Context) error {
	return h.library.fail(ctx, h.library.release(ctx, h.lock.unlock), history.NoLock)
}

// release gives a lock back as a careful user does whose context may have ended: the libraries would not send
// anything under it. It returns what unlock returned, unless ctx ends before that: unlock then goes on.
//
// Goroutines: one for each release, which ends when that has been answered, or after limit. Close waits for
// all of them.
func (l *library) release(ctx context.Context, unlock func(context.Context) error) error {
	done := make(chan error, 1) // room for a result that nobody waits for
	l.releases.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.limit)
		defer cancel()
		done <- unlock(ctx)
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure is an error of a library with its kind.
type failure struct {
	as history.Failure
	error
}

func (f failure) Unwrap() error { return f.error }

// fail returns err as what it is: ended if ctx has, as if the masters refused, or no quorum.
func (l *library) fail(ctx context.Context, err error, as history.Failure) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return failure{history.Ended, err}
	}
	return failure{l.kindOf(err, as), err}
}

// classify returns the kind of an error, which the adapters have found out.
func classify(err error) history.Failure {
	if f, ok := err.(failure); ok {
		return f.as
	}
	return history.Unknown
}
