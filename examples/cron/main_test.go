package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// newReplica returns a replica whose job takes ten seconds, and what the job sends when it begins
// and, negated, when it is finished.
func newReplica(t *testing.T, fleet *redlocktest.Fleet, log chan<- int64) *replica {
	t.Helper()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	check.OK(t, err)
	t.Cleanup(func() { client.Close() })
	job := func(ctx context.Context, token int64) error {
		log <- token
		select {
		case <-time.After(10 * time.Second):
			log <- -token
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return &replica{client: client, every: time.Minute, job: job}
}

// A leader that is told to stop in the middle of a job finishes it, and the next replica leads at
// once.
func TestHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		log := make(chan int64, 100)
		stop, terminate := context.WithCancel(t.Context())
		first := make(chan error, 1)
		go func() { first <- newReplica(t, fleet, log).run(stop) }()
		old := <-log // the job has begun
		go func() { _ = newReplica(t, fleet, log).run(t.Context()) }()
		time.Sleep(2 * time.Second) // the second replica waits

		terminate()
		check.OK(t, <-first, "run")
		check.Equal(t, <-log, -old, "the end of the job")
		unlocked := time.Now()
		fresh := <-log // the next replica's first job, a tick after it began to lead
		if led := time.Since(unlocked) - time.Minute; led > 50*time.Millisecond {
			t.Errorf("the next replica led %v after the first had stopped", led)
		}
		check.That(t, fresh > old, "the token of the next leader is %d, want more than %d", fresh, old)
	})
}

// A leader that was told to stop begins no job any more, though a tick has come.
func TestNoJobAfterTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leader := newReplica(t, redlocktest.Start(t, 3), nil)
		for range 50 {
			ctx, stop := context.WithCancel(t.Context())
			jobs := 0
			leader.job = func(context.Context, int64) error {
				jobs++
				stop()
				time.Sleep(2 * leader.every)
				return nil
			}
			if err := leader.run(ctx); err != nil || jobs != 1 {
				t.Fatalf("run = %v, and %d jobs began, want 1", err, jobs)
			}
		}
	})
}

// A leader that dies is replaced when its lease has ended, and its job learns that it has lost.
func TestLeaderIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		masters := redlocktest.Start(t, 3)
		log := make(chan int64, 100)
		lost := make(chan error, 1)
		leader := newReplica(t, masters, log)
		leader.job = func(ctx context.Context, token int64) error {
			log <- token
			<-ctx.Done()
			lost <- context.Cause(ctx)
			return context.Cause(ctx)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- leader.run(ctx) }()
		old := <-log
		for _, master := range masters.Masters() {
			master.Cut() // from everybody, for longer than the lease
		}
		if err := <-lost; err == nil {
			t.Error("the job's context ended without a cause")
		}
		stop()
		for _, master := range masters.Masters() {
			master.Mend()
		}
		<-ended
		go func() { _ = newReplica(t, masters, log).run(t.Context()) }()
		if fresh := <-log; fresh <= old {
			t.Errorf("the token of the next leader is %d, want more than %d", fresh, old)
		}
	})
}
