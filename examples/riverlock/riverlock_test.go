package riverlock_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	_ "modernc.org/sqlite"

	"example.com/redlock/examples/riverlock"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// bill is a job for a customer.
type bill struct {
	Customer string `json:"customer"`
}

func (bill) Kind() string { return "bill" }

// customer is the key of a job.
func customer(job *rivertype.JobRow) string {
	var b bill
	_ = json.Unmarshal(job.EncodedArgs, &b)
	return b.Customer
}

// open returns a client of River with a database of its own.
func open(t *testing.T, locks *redlock.Client, work func(context.Context, *river.Job[bill]) error) *river.Client[*sql.Tx] {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	check.OK(t, err)
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	quiet := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: quiet})
	check.OK(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	check.OK(t, err)
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(work))
	client, err := river.NewClient(riversqlite.New(db), &river.Config{
		Logger: quiet, Workers: workers, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}},
		FetchCooldown: 20 * time.Millisecond, FetchPollInterval: 50 * time.Millisecond,
		Middleware: []rivertype.Middleware{&riverlock.Exclusive{Client: locks, Key: customer}},
	})
	check.OK(t, err)
	check.OK(t, client.Start(t.Context()))
	t.Cleanup(func() { _ = client.Stop(context.Background()) })
	return client
}

// Two services, with a database each, work the jobs of three customers: each job once, at its first attempt,
// and no two of a customer at a time.
func TestOneJobOfACustomerAtATime(t *testing.T) {
	var masters []string
	for range 3 {
		port, _ := redisserver.Start(t, nil)
		masters = append(masters, "127.0.0.1:"+port)
	}
	var mu sync.Mutex
	inside, together, done := map[string]int{}, 0, make(chan int, 20)
	work := func(_ context.Context, job *river.Job[bill]) error {
		mu.Lock()
		inside[job.Args.Customer]++
		together = max(together, inside[job.Args.Customer])
		mu.Unlock()
		time.Sleep(10 * time.Millisecond) // the work
		mu.Lock()
		inside[job.Args.Customer]--
		mu.Unlock()
		done <- job.Attempt
		return nil
	}
	for range 2 {
		locks, err := redlock.New(redlock.Config{Masters: masters, RestartGuard: redlock.GuardOff}) // these masters are new
		check.OK(t, err)
		t.Cleanup(func() { locks.Close() })
		client := open(t, locks, work)
		for i := range cap(done) / 2 {
			if _, err := client.Insert(t.Context(), bill{strconv.Itoa(i % 3)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range cap(done) {
		check.Equal(t, <-done, 1, "the attempt of a job that found its lock taken")
	}
	check.Equal(t, together, 1, "jobs of a customer that were worked at a time")
}

// River recovers the panic of a worker, whose lock is free then: not only when its lease has ended.
func TestAPanicUnlocks(t *testing.T) {
	locks, err := redlock.New(redlock.Config{Pools: redlocktest.Start(t, 3).Pools(), RestartGuard: redlock.GuardOff})
	check.OK(t, err)
	defer locks.Close()
	exclusive := riverlock.Exclusive{Client: locks, Key: func(*rivertype.JobRow) string { return "bill" }}
	func() {
		defer func() { _ = recover() }()
		_ = exclusive.Work(t.Context(), nil, func(context.Context) error { panic("of the worker") })
	}()
	_, err = locks.TryLock(t.Context(), "river:bill")
	check.OK(t, err, "TryLock")
}
