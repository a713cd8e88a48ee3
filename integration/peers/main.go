package main

import (
	"context"
	"fmt"
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
	switch cfg.Locker {
	case "redsync":
		return openRedsync(cfg, false), nil
	case "redsync-ff":
		return openRedsync(cfg, true), nil
	case "single":
		return openSingle(cfg), nil
	}
	return nil, fmt.Errorf("no locker %s: it can be redsync, redsync-ff or single", cfg.Locker)
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

// failure is an error of a library with its kind.
type failure struct {
	as history.Failure
	error
}

func (f failure) Unwrap() error { return f.error }

// classify returns the kind of an error, which the adapters have found out.
func classify(err error) history.Failure {
	if f, ok := err.(failure); ok {
		return f.as
	}
	return history.Unknown
}

// fail returns err as what it is: ended if ctx has, otherwise as.
func fail(ctx context.Context, err error, as history.Failure) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		as = history.Ended
	}
	return failure{as, err}
}

// basis is what all holds of these libraries are like.
type basis struct{ name string }

func (b basis) Name() string           { return b.name }
func (basis) Slot() int                { return 0 }
func (basis) Token() int64             { return 0 }
func (basis) Context() context.Context { return nil }

// renewals is a lease that callers renew.
type renewals struct{ lease time.Duration }

func (r renewals) ExtendEvery() time.Duration { return r.lease / 3 }
