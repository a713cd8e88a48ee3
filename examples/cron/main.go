// Command cron runs a job every minute in one of its replicas, the leader. When the leader is told
// to stop, as by a deploy, it finishes the job it is at and unlocks, and another replica leads from
// then on; it does not wait for a lease to end.
//
//	REDLOCK_MASTERS=127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003 go run ./cron
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.com/redlock/redlock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := redlock.New(redlock.Config{
		Masters: strings.Split(os.Getenv("REDLOCK_MASTERS"), ","),
		Logger:  slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	replica := &replica{client: client, every: time.Minute, job: report}
	if err := errors.Join(replica.run(ctx), client.Close()); err != nil {
		log.Fatal(err) // the supervisor starts it again
	}
}

// report is the job. It may run twice for one minute, if a leader dies before it has noted that it
// is done; what must not is for the token to prevent, as in ../sqlrow.
func report(ctx context.Context, token int64) error {
	slog.Info("report", "token", token)
	return ctx.Err()
}

// leaderLock is the name that the replicas compete for.
const leaderLock = "cron:report"

// A replica leads, or waits to lead.
type replica struct {
	client *redlock.Client
	every  time.Duration
	job    func(ctx context.Context, token int64) error
}

// run leads whenever it can, until ctx ends.
func (r *replica) run(ctx context.Context) error {
	for {
		hold, err := r.client.Lock(ctx, leaderLock) // waits for as long as another replica leads
		if ctx.Err() != nil && err != nil {
			return nil
		}
		if err != nil {
			return err
		}
		err = errors.Join(r.lead(ctx, hold), unlock(hold))
		if ctx.Err() != nil {
			return err
		}
		slog.Warn("leads no longer", "error", err) // the lock was lost: compete again
	}
}

// lead runs the job at each tick, until ctx ends or the lock is lost.
func (r *replica) lead(ctx context.Context, hold *redlock.Hold) error {
	tick := time.NewTicker(r.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hold.Context().Done():
			return context.Cause(hold.Context())
		case <-tick.C:
			if ctx.Err() != nil || hold.Context().Err() != nil {
				continue // several may be ready after a long job, and select takes any
			}
			// The job's context is the hold's, which SIGTERM does not end: the job is finished first.
			if err := r.job(hold.Context(), hold.Token()); err != nil {
				slog.Error("job failed", "error", err)
			}
		}
	}
}

// unlock hands the lead to the replica that waits for it. It has a context of its own, since the
// service's has ended by then.
func unlock(hold *redlock.Hold) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return hold.Unlock(ctx)
}
