// Package riverlock lets the clients of github.com/riverqueue/river work one job of a key at a time, also
// when they do not share a database:
//
//	river.NewClient(driver, &river.Config{Middleware: []rivertype.Middleware{
//		&riverlock.Exclusive{Client: client, Key: customer},
//	}})
//
// River elects the client that inserts periodic jobs by itself, in its database.
package riverlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"example.com/redlock/redlock"
)

// Exclusive makes clients work one job of a key at a time. It does not wait, since a job that waits takes the place of one
// that could go on: it snoozes the job for a second, on average, which uses up no attempt. The worker's context also ends
// when the lock is lost. What it writes should carry redlock.Token(ctx), since River, too, gives a job to another client
// when it believes that the first one is dead.
type Exclusive struct {
	river.MiddlewareDefaults
	Client *redlock.Client
	Key    func(*rivertype.JobRow) string // "" for a job that needs no lock
}

// Work implements rivertype.WorkerMiddleware.
func (e *Exclusive) Work(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) (err error) {
	key := e.Key(job)
	if key == "" {
		return work(ctx)
	}
	hold, err := e.Client.TryLock(ctx, "river:"+key)
	if errors.Is(err, redlock.ErrTaken) {
		return river.JobSnooze(time.Second/2 + rand.N(time.Second))
	}
	if errors.Is(err, redlock.ErrNoQuorum) { // an outage uses up no attempts
		return river.JobSnooze(15*time.Second + rand.N(30*time.Second))
	}
	if err != nil {
		return err
	}
	defer func() { // also when the worker panics, which River recovers
		if lost := hold.Unlock(context.WithoutCancel(ctx)); errors.Is(lost, redlock.ErrLost) {
			err = errors.Join(err, lost) // another process may have worked at it
		}
	}()
	locked, cancel := context.WithCancelCause(hold.Context())
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })() // River's timeout, or shutdown
	return work(locked)
}
