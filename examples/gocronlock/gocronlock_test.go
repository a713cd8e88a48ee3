package gocronlock_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"

	"example.com/redlock/examples/gocronlock"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// process is one of those that have the same job, each minute.
func process(t *testing.T, fleet *redlocktest.Fleet, job func(), option func(*redlock.Client) gocron.SchedulerOption) {
	t.Helper()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	check.OK(t, err)
	s, err := gocron.NewScheduler(option(client))
	check.OK(t, err)
	if _, err := s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(job), gocron.WithName("report")); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			t.Error(err)
		}
		client.Close()
	})
}

// Of three processes one runs the job, each minute, though they start it one after the other.
func TestOneProcessRunsTheJob(t *testing.T) {
	for name, option := range map[string]func(context.Context, *redlock.Client) gocron.SchedulerOption{
		"locker, quick": func(_ context.Context, c *redlock.Client) gocron.SchedulerOption {
			return gocron.WithDistributedLocker(gocronlock.Locker{Client: c, AtLeast: 10 * time.Second})
		},
		"locker": func(_ context.Context, c *redlock.Client) gocron.SchedulerOption {
			return gocron.WithDistributedLocker(gocronlock.Locker{Client: c})
		},
		"elector": func(ctx context.Context, c *redlock.Client) gocron.SchedulerOption {
			return gocron.WithDistributedElector(gocronlock.Campaign(ctx, c, "cron"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := redlocktest.Start(t, 3)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var mu sync.Mutex
				runs := 0
				for range 3 {
					time.Sleep(400 * time.Millisecond)
					process(t, fleet, func() {
						mu.Lock()
						runs++
						mu.Unlock()
						if name != "locker, quick" {
							time.Sleep(time.Second)
						}
					}, func(c *redlock.Client) gocron.SchedulerOption { return option(ctx, c) })
				}
				time.Sleep(10*time.Minute + 30*time.Second)
				mu.Lock()
				defer mu.Unlock()
				check.Equal(t, runs, 10, "how often the job ran in ten minutes")
			})
		})
	}
}

// Where nobody can campaign, no process says that another one leads.
func TestElectorSaysWhyItDoesNotCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := redlock.New(redlock.Config{Pools: redlocktest.Start(t, 3).Pools()})
		check.OK(t, err)
		defer client.Close()
		_, want := client.TryLock(t.Context(), "")
		leader := gocronlock.Campaign(t.Context(), client, "")
		synctest.Wait()
		if got := leader.IsLeader(t.Context()); want == nil || got == nil || got.Error() != want.Error() {
			t.Errorf("IsLeader = %v, want %v", got, want)
		}
	})
}
