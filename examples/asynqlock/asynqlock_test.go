package asynqlock_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"

	"example.com/redlock/examples/asynqlock"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// start starts three masters. asynq's tasks are on one of them.
func start(t *testing.T) (queue asynq.RedisClientOpt, process func() *redlock.Client) {
	t.Helper()
	var masters []string
	for range 3 {
		port, _ := redisserver.Start(t, nil)
		masters = append(masters, "127.0.0.1:"+port)
	}
	return asynq.RedisClientOpt{Addr: masters[0]}, func() *redlock.Client {
		client, err := redlock.New(redlock.Config{Masters: masters, Lease: 5 * time.Second, NodeTimeout: 2 * time.Second, RestartGuard: redlock.GuardOff}) // these masters are new
		check.OK(t, err)
		t.Cleanup(func() { client.Close() })
		return client
	}
}

// serve starts a server of asynq.
func serve(t *testing.T, queue asynq.RedisClientOpt, mux *asynq.ServeMux) {
	t.Helper()
	server := asynq.NewServer(queue, asynq.Config{
		Concurrency: 4, LogLevel: asynq.FatalLevel, DelayedTaskCheckInterval: 20 * time.Millisecond, TaskCheckInterval: 20 * time.Millisecond,
		IsFailure: asynqlock.IsFailure, RetryDelayFunc: asynqlock.RetryDelay,
	})
	check.OK(t, server.Start(mux))
	t.Cleanup(server.Shutdown)
}

// Three servers process the tasks of three customers: each task once, at its first attempt, and no two of a
// customer at a time.
func TestOneTaskOfACustomerAtATime(t *testing.T) {
	queue, process := start(t)
	customer := func(task *asynq.Task) string { return string(task.Payload()) }
	var mu sync.Mutex
	inside, together, done := map[string]int{}, 0, make(chan int, 30)
	bill := func(ctx context.Context, task *asynq.Task) error {
		mu.Lock()
		inside[customer(task)]++
		together = max(together, inside[customer(task)])
		mu.Unlock()
		time.Sleep(10 * time.Millisecond) // the work
		mu.Lock()
		inside[customer(task)]--
		mu.Unlock()
		failures, _ := asynq.GetRetryCount(ctx)
		done <- failures
		return nil
	}
	for range 3 {
		mux := asynq.NewServeMux()
		mux.Use(asynqlock.Exclusive(process(), customer))
		mux.HandleFunc("bill", bill)
		serve(t, queue, mux)
	}
	tasks := asynq.NewClient(queue)
	defer tasks.Close()
	for i := range cap(done) {
		if _, err := tasks.Enqueue(asynq.NewTask("bill", []byte(strconv.Itoa(i%3)))); err != nil {
			t.Fatal(err)
		}
	}
	for range cap(done) {
		check.Equal(t, <-done, 0, "failures of a task that found its lock taken")
	}
	check.Equal(t, together, 1, "tasks of a customer that were processed at a time")
}

// The handler's context ends with the lock, with the work not done.
func TestLost(t *testing.T) {
	queue, process := start(t)
	lost := make(chan error, 1)
	mux := asynq.NewServeMux()
	mux.Use(asynqlock.Exclusive(process(), (*asynq.Task).Type))
	operator := process()
	mux.HandleFunc("bill", func(ctx context.Context, _ *asynq.Task) error {
		if _, err := redlockadmin.Of(operator).ForceUnlock(ctx, "asynq:bill"); err != nil {
			t.Error(err)
		}
		<-ctx.Done() // with the next renewal
		lost <- context.Cause(ctx)
		return context.Cause(ctx)
	})
	serve(t, queue, mux)
	tasks := asynq.NewClient(queue)
	defer tasks.Close()
	if _, err := tasks.Enqueue(asynq.NewTask("bill", nil), asynq.MaxRetry(0)); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; !errors.Is(err, redlock.ErrLost) {
		t.Errorf("the handler's context ended with %v, want ErrLost", err)
	}
}

// A task that was not begun has not failed; what its handler says of other locks is its own. A task without a key needs no
// lock.
func TestWhatIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), RestartGuard: redlock.GuardOff})
		check.OK(t, err)
		defer client.Close()
		var says error
		handler := asynqlock.Exclusive(client, (*asynq.Task).Type)(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { return says }))
		expect := func(what, key string, failure bool, want error) {
			t.Helper()
			err := handler.ProcessTask(t.Context(), asynq.NewTask(key, nil))
			if !errors.Is(err, want) || asynqlock.IsFailure(err) != failure {
				t.Errorf("%s: %v, a failure: %t; want %v, %t", what, err, asynqlock.IsFailure(err), want, failure)
			}
		}
		for _, name := range []string{"asynq:taken", "asynq:"} {
			hold, err := client.Lock(t.Context(), name)
			check.OK(t, err)
			defer hold.Unlock(t.Context())
		}
		expect("its lock is taken", "taken", false, redlock.ErrTaken)
		says = redlock.ErrTaken
		expect("the handler found another lock taken", "free", true, redlock.ErrTaken)
		expect("a task without a key", "", true, redlock.ErrTaken)
		for i := range 3 {
			fleet.Master(i).Cut()
		}
		expect("an outage", "free", false, redlock.ErrNoQuorum)
	})
}

// everySecond has a task of a process.
type everySecond string

func (process everySecond) GetConfigs() ([]*asynq.PeriodicTaskConfig, error) {
	return []*asynq.PeriodicTaskConfig{{Cronspec: "@every 1s", Task: asynq.NewTask("tick", []byte(process))}}, nil
}

// One of three processes enqueues the periodic task; when it stops, another one does.
func TestOneProcessSchedules(t *testing.T) {
	queue, process := start(t)
	ticks := make(chan string, 100)
	mux := asynq.NewServeMux()
	mux.HandleFunc("tick", func(_ context.Context, task *asynq.Task) error {
		ticks <- string(task.Payload())
		return nil
	})
	serve(t, queue, mux)
	stop, ended := map[string]context.CancelFunc{}, map[string]chan struct{}{}
	for _, name := range []string{"a", "b", "c"} {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		stop[name], ended[name] = cancel, make(chan struct{})
		client := process()
		go func() { // ends with ctx
			defer close(ended[name])
			_ = asynqlock.Schedule(ctx, client, "cron", asynq.PeriodicTaskManagerOpts{
				RedisConnOpt: queue, PeriodicTaskConfigProvider: everySecond(name), SchedulerOpts: &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel},
			})
		}()
	}
	tick := func() string {
		t.Helper()
		select {
		case name := <-ticks:
			return name
		case <-time.After(time.Minute):
			t.Fatalf("nobody enqueues anything, of %d that were not stopped", len(stop))
			return ""
		}
	}
	for len(stop) > 0 {
		leader := tick()
		for stop[leader] == nil { // what it enqueued before it was stopped
			leader = tick()
		}
		for range 2 {
			check.Equal(t, tick(), leader, "who enqueues")
		}
		stop[leader]()
		delete(stop, leader)
		<-ended[leader]
	}
}

// asynq recovers the panic of a handler, whose lock is free then: not only when its lease has ended.
func TestAPanicUnlocks(t *testing.T) {
	client, err := redlock.New(redlock.Config{Pools: redlocktest.Start(t, 3).Pools(), RestartGuard: redlock.GuardOff})
	check.OK(t, err)
	defer client.Close()
	handler := asynqlock.Exclusive(client, (*asynq.Task).Type)(asynq.HandlerFunc(func(context.Context, *asynq.Task) error { panic("of the handler") }))
	func() {
		defer func() { _ = recover() }()
		_ = handler.ProcessTask(t.Context(), asynq.NewTask("bill", nil))
	}()
	_, err = client.TryLock(t.Context(), "asynq:bill")
	check.OK(t, err, "TryLock")
}
