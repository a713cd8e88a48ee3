// Package gocronlock lets the schedulers of github.com/go-co-op/gocron/v2 in several processes share their jobs:
//
//	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(gocronlock.Locker{Client: client}))
//
// or, so that one process runs all of them,
//
//	leader := gocronlock.Campaign(ctx, client, "cron")
//	s, err := gocron.NewScheduler(gocron.WithDistributedElector(leader))
package gocronlock

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-co-op/gocron/v2"

	"example.com/redlock/redlock"
)

// Locker has each run of a job happen in one process: in whichever locks the job's name first. The others
// skip it. A run that is over before another process's clock says that it is due happens there again, so it
// is for jobs that take longer than the clocks differ, or that do no harm twice.
type Locker struct{ *redlock.Client }

// Lock implements gocron.Locker.
func (l Locker) Lock(ctx context.Context, key string) (gocron.Lock, error) {
	return l.TryLock(ctx, "gocron:"+key)
}

// Elector has all jobs run in the process that leads.
type Elector struct{ leads atomic.Bool }

// errFollows is why a process that does not lead skips a run.
var errFollows = errors.New("another process leads")

// Campaign wants to lead, until ctx ends.
func Campaign(ctx context.Context, client *redlock.Client, name string) *Elector {
	e := new(Elector)
	// Goroutines: one, which ends with ctx.
	go client.Lead(ctx, name, func(ctx context.Context) error {
		e.leads.Store(true)
		defer e.leads.Store(false)
		<-ctx.Done()
		return nil
	})
	return e
}

// IsLeader implements gocron.Elector.
func (e *Elector) IsLeader(context.Context) error {
	if e.leads.Load() {
		return nil
	}
	return errFollows
}
