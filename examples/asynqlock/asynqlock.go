// Package asynqlock lets the servers and schedulers of github.com/hibiken/asynq in several processes share
// their work.
//
// One task of a customer at a time, in all servers:
//
//	mux.Use(asynqlock.Exclusive(client, customer))
//	server := asynq.NewServer(redis, asynq.Config{IsFailure: asynqlock.IsFailure, RetryDelayFunc: asynqlock.RetryDelay})
//
// Periodic tasks from one process, and from another when that one fails:
//
//	err := asynqlock.Schedule(ctx, client, "cron", asynq.PeriodicTaskManagerOpts{…})
package asynqlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/hibiken/asynq"

	"example.com/redlock/redlock"
)

// refused is why a task was not begun. Errors of the handler's own locks are not among these.
type refused struct{ error }

func (r refused) Unwrap() error { return r.error }

// Exclusive makes servers process one task of a key at a time, and those of the key "" without a lock. It does not wait,
// since a task that waits takes the place of one that could go on: the task comes again after about [RetryDelay]. The
// context of the handler also ends when the lock is lost. What it writes should carry redlock.Token(ctx), since asynq, too,
// gives a task to another server when it believes that the first one is dead.
func Exclusive(client *redlock.Client, key func(*asynq.Task) string) asynq.MiddlewareFunc {
	return func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) (err error) {
			name := key(task)
			if name == "" {
				return next.ProcessTask(ctx, task)
			}
			hold, err := client.TryLock(ctx, "asynq:"+name)
			if errors.Is(err, redlock.ErrTaken) || errors.Is(err, redlock.ErrNoQuorum) {
				return refused{err}
			}
			if err != nil {
				return err
			}
			defer func() { // also when the handler panics, which asynq recovers
				if lost := hold.Unlock(context.WithoutCancel(ctx)); errors.Is(lost, redlock.ErrLost) {
					err = errors.Join(err, lost) // another process may have worked at it
				}
			}()
			work, cancel := context.WithCancelCause(hold.Context())
			defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })() // asynq's deadline, or shutdown
			return next.ProcessTask(work, task)
		})
	}
}

// IsFailure is for [asynq.Config]: a task has not failed if it was not begun, since its lock was taken or no majority of the
// masters could be reached. asynq only asks if retries are left, so allow some.
func IsFailure(err error) bool { return !errors.As(err, new(refused)) }

// RetryDelay is for [asynq.Config]: a task whose lock was taken comes again after a second, on average.
func RetryDelay(n int, err error, task *asynq.Task) time.Duration {
	if IsFailure(err) || errors.Is(err, redlock.ErrNoQuorum) {
		return asynq.DefaultRetryDelayFunc(n, err, task)
	}
	return time.Second/2 + rand.N(time.Second)
}

// Schedule enqueues periodic tasks in the process that leads, until ctx ends. At a change of leaders a task
// may be enqueued twice or not at all: where that matters, give it an asynq.TaskID made from its time.
func Schedule(ctx context.Context, client *redlock.Client, name string, opts asynq.PeriodicTaskManagerOpts) error {
	return client.Lead(ctx, name, func(ctx context.Context) error {
		manager, err := asynq.NewPeriodicTaskManager(opts)
		if err != nil {
			return err
		}
		if err := manager.Start(); err != nil {
			return err
		}
		defer manager.Shutdown()
		<-ctx.Done()
		return nil
	})
}
