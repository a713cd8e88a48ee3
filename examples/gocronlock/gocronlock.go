// Package gocronlock lets the schedulers of github.com/go-co-op/gocron/v2 in several processes share their jobs:
//
//	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(gocronlock.Locker{Client: client, AtLeast: 10 * time.Second}))
//
// or, so that one process runs all of them,
//
//	leader := gocronlock.Campaign(ctx, client, "cron")
//	s, err := gocron.NewScheduler(gocron.WithDistributedElector(leader))
package gocronlock

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-co-op/gocron/v2"

	"example.com/redlock/redlock"
)

// Locker makes each run of a job happen in one process: the one that locks the job's name first. The others skip it. gocron
// has no way to tell a job that its lock is lost. So a job that must not overlap checks a fencing token of its own, or takes
// a lock itself, with Client.Do.
type Locker struct {
	*redlock.Client

	// AtLeast is how long the lock is kept at least, or another process would run a quick job again. It must be longer than
	// the starts of the job differ between processes, and shorter than its interval.
	AtLeast time.Duration
}

// Lock implements gocron.Locker.
func (l Locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	hold, err := l.TryLock(ctx, "gocron:"+key)
	return lock{hold, time.Now().Add(l.AtLeast)}, err
}

type lock struct {
	*redlock.Hold
	until time.Time // when it may be unlocked
}

// Unlock implements gocron.Lock. It does not wait; closing the client unlocks as well. gocron drops its error, so the log
// says that another process may have run the same job.
func (l lock) Unlock(ctx context.Context) error {
	time.AfterFunc(time.Until(l.until), func() {
		if err := l.Hold.Unlock(context.WithoutCancel(ctx)); errors.Is(err, redlock.ErrLost) {
			slog.ErrorContext(ctx, "a job has run without its lock", "error", err)
		}
	})
	return nil
}

// Elector makes all jobs run in the process that leads.
type Elector struct {
	leads  atomic.Bool
	failed atomic.Pointer[error] // why it does not campaign
}

// errFollows is why a process that does not lead skips a run.
var errFollows = errors.New("another process leads")

// Campaign campaigns until ctx ends. Then another process leads, and starts jobs that may still run here. So call Shutdown
// of the scheduler first, which waits for jobs for gocron.WithStopTimeout, 10 s by default; if it returns an error, end the
// process instead.
func Campaign(ctx context.Context, client *redlock.Client, name string) *Elector {
	e := new(Elector)
	// Goroutines: one, which ends with ctx.
	go func() {
		err := client.Lead(ctx, name, func(ctx context.Context) error {
			e.leads.Store(true)
			defer e.leads.Store(false)
			<-ctx.Done()
			return nil
		})
		if err != nil {
			e.failed.Store(&err)
		}
	}()
	return e
}

// IsLeader implements gocron.Elector.
func (e *Elector) IsLeader(context.Context) error {
	if err := e.failed.Load(); err != nil {
		return *err
	}
	if e.leads.Load() {
		return nil
	}
	return errFollows
}
