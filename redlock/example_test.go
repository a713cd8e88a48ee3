package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

func Example() {
	fleet := redlocktest.New(3) // instead of three Redis masters
	defer fleet.Close()

	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()}) // or Masters: []string{"10.0.0.1:6379", …}
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	err = client.Do(context.Background(), "orders:42", func(ctx context.Context) error {
		fmt.Println("nobody else acts on orders:42 until ctx ends:", ctx.Err())
		return nil
	})
	fmt.Println(err)

	// Output:
	// nobody else acts on orders:42 until ctx ends: <nil>
	// <nil>
}

func ExampleClient_Lock() {
	client, done := exampleClient()
	defer done()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second) // bounds the wait
	defer cancel()
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	fmt.Println(hold.Name(), "is held:", hold.Context().Err() == nil)
	// Output: orders:42 is held: true
}

// A service waits for its masters before it takes work. A health endpoint calls Ready with a
// short deadline.
func ExampleClient_Ready() {
	client, done := exampleClient()
	defer done()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var why *redlock.MajorityError
	switch err := client.Ready(ctx); {
	case err == nil:
		fmt.Println("ready")
	case errors.Is(err, redlock.ErrGuarded) && errors.As(err, &why):
		fmt.Println("the masters have restarted; ready in", why.Guard)
	default:
		fmt.Println(err) // which master lacks what
	}
	// Output: ready
}

// The context of fn ends when the lock is lost, and Do then says so.
func ExampleClient_Do() {
	client, done := exampleClient()
	defer done()

	err := client.Do(context.Background(), "orders:42", func(ctx context.Context) error {
		redlockadmin.Of(client).ForceUnlock(ctx, "orders:42") // as an operator would
		return nil
	})
	fmt.Println(errors.Is(err, redlock.ErrLost))
	// Output: true
}

// One process of a fleet runs the scheduler. When it fails, another one does.
func ExampleClient_Lead() {
	client, done := exampleClient()
	defer done()

	err := client.Lead(context.Background(), "scheduler", func(ctx context.Context) error {
		leader, err := redlockadmin.Of(client).Inspect(ctx, "scheduler") // as every process may
		if err != nil {
			return err // another process leads next, and this one campaigns again after a pause
		}
		fmt.Println("held:", leader.Held)
		return nil // done; a scheduler would go on until <-ctx.Done()
	})
	fmt.Println(err)
	// Output:
	// held: true
	// <nil>
}

// A function that takes a Locker locks with a Client of one set of masters or of several, or with a fake in a test.
func ExampleLocker() {
	client, done := exampleClient()
	defer done()

	ship := func(ctx context.Context, locks redlock.Locker, order string) error {
		return locks.Do(ctx, "orders:"+order, func(context.Context) error {
			fmt.Println("shipping order", order)
			return nil
		})
	}
	if err := ship(context.Background(), client, "42"); err != nil {
		log.Fatal(err)
	}
	// Output: shipping order 42
}

// A hold can be entered again, and the new Hold handed on.
func ExampleHold_Enter() {
	client, done := exampleClient()
	defer done()

	outer, err := client.Lock(context.Background(), "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	inner, err := outer.Enter(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outer.Count())
	fmt.Println(inner.Unlock(context.Background()), outer.Count())
	fmt.Println(outer.Unlock(context.Background()), outer.Count())
	// Output:
	// 2
	// <nil> 1
	// <nil> 0
}

// With an owner from the start, holds need not be handed down.
func ExampleWithOwner() {
	client, done := exampleClient()
	defer done()

	ctx := redlock.WithOwner(context.Background())
	save := func(ctx context.Context) error { // locks for itself, whoever calls it
		return client.Do(ctx, "orders:42", func(context.Context) error {
			fmt.Println("saved")
			return nil
		})
	}
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	fmt.Println(save(ctx))
	// Output:
	// saved
	// <nil>
}

// Nothing renews a fixed lease.
func ExampleLease() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "orders:42", redlock.Lease(20*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	<-hold.Context().Done()
	fmt.Println(errors.Is(context.Cause(hold.Context()), redlock.ErrLost))
	fmt.Println(errors.Is(hold.Unlock(ctx), redlock.ErrLost))
	// Output:
	// true
	// true
}

func ExampleClient_TryLock() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.TryLock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	if _, err := client.TryLock(ctx, "orders:42"); errors.Is(err, redlock.ErrTaken) {
		fmt.Println("somebody is at it")
	}
	// Output: somebody is at it
}

// All processes try to run a job at each tick, and one runs it. A quick job leaves the name locked until the others have
// tried as well, also those whose clocks are behind.
func ExampleClient_TryLock_oncePerTick() {
	client, done := exampleClient()
	defer done()

	report := func(tick time.Time) error {
		ctx := context.Background()
		hold, err := client.TryLock(ctx, "report:"+tick.UTC().Format(time.RFC3339))
		if errors.Is(err, redlock.ErrTaken) {
			return nil // another process runs it, or has
		}
		if err != nil {
			return err
		}
		time.AfterFunc(time.Minute, func() { hold.Unlock(ctx) }) // Close unlocks as well
		fmt.Println("the report of", tick.Format(time.TimeOnly))
		return hold.Context().Err()
	}
	tick := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	for range 3 {
		if err := report(tick); err != nil {
			log.Fatal(err)
		}
	}
	// Output: the report of 03:00:00
}

// Money moves between two accounts under both of their locks, whoever else moves some the other way.
func ExampleClient_LockAll() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	holds, err := client.LockAll(ctx, []string{"account:7", "account:3"})
	if err != nil {
		log.Fatal(err)
	}
	defer holds.Unlock(ctx)

	fmt.Println(holds.Names(), "are held:", holds.Context().Err() == nil)
	// Output: [account:3 account:7] are held: true
}

// What the lock protects refuses a holder that was paused until after its lease.
func ExampleHold_Token() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	var last int64
	write := func(token int64, value string) {
		if token < last {
			fmt.Println("refused:", value)
			return
		}
		last = token
		fmt.Println("written:", value)
	}

	paused, err := client.Lock(ctx, "orders:42", redlock.Lease(20*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	hold, err := client.Lock(ctx, "orders:42") // once the lease has ended
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	write(hold.Token(), "new")
	write(paused.Token(), "old")
	// Output:
	// written: new
	// refused: old
}

// exampleClient is a client of three masters in memory, and what ends them.
func exampleClient() (client *redlock.Client, done func()) {
	fleet := redlocktest.New(3)
	// These masters are in the process, and run when it does: a busy machine may not let them answer a
	// TryLock within half a second.
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), NodeTimeout: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	return client, func() {
		client.Close()
		fleet.Close()
	}
}
