package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// An error says what kind of failure it is, and what each master said.
func ExampleMajorityError() {
	fleet := redlocktest.New(3)
	defer fleet.Close()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	fleet.Master(1).Set("orders:42", "not a lock")
	fleet.Master(2).Set("orders:42", "not a lock")
	_, err = client.Lock(context.Background(), "orders:42") // does not wait: that would not help
	if why, ok := errors.AsType[*redlock.MajorityError](err); ok && errors.Is(err, redlock.ErrNoQuorum) {
		fmt.Printf("%s %q: %d masters are needed of %d\n", why.Op, why.Name, why.Need, why.Of)
		fmt.Println("waiting cannot help:", why.Hopeless)
		fmt.Println(why.Masters[len(why.Masters)-1])
	}
	// Output:
	// lock "orders:42": 2 masters are needed of 3
	// waiting cannot help: true
	// pool 2: the key is no lock: it holds a string
}

// The error of a lock that is taken says when it would be free if its holder were gone.
func ExampleMajorityError_taken() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	_, err = client.TryLock(ctx, "orders:42")
	if why, ok := errors.AsType[*redlock.MajorityError](err); ok && errors.Is(err, redlock.ErrTaken) {
		fmt.Println("the lease has at most 30 s left:", why.FreeAfter > 0 && why.FreeAfter <= 30*time.Second)
		fmt.Println("one owner has it:", !why.Split && why.Holder == hold.Owner())
	}
	// Output:
	// the lease has at most 30 s left: true
	// one owner has it: true
}

// A hold is unlocked once, and by nobody after Close.
func ExampleHold_Unlock() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(hold.Unlock(ctx))
	fmt.Println("unlocked before:", errors.Is(hold.Unlock(ctx), redlock.ErrNotHeld))

	hold, err = client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	client.Close()
	fmt.Println("given back by Close:", errors.Is(hold.Unlock(ctx), redlock.ErrClosed))
	fmt.Println("for whoever asks the hold:", errors.Is(context.Cause(hold.Context()), redlock.ErrClosed))
	// Output:
	// <nil>
	// unlocked before: true
	// given back by Close: true
	// for whoever asks the hold: true
}

// A reader cannot become a writer: two that tried would wait for each other.
func ExampleErrUpgrade() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "report", redlock.Shared())
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	_, err = client.Lock(hold.Context(), "report")
	fmt.Println(errors.Is(err, redlock.ErrUpgrade))
	// Output: true
}

// A newcomer, with other masters or leases than clients that are established, takes no lock.
func ExampleConflictError() {
	client, done := exampleClient()
	defer done()

	_, err := client.TryLock(context.Background(), "report")
	if other, ok := errors.AsType[*redlock.ConflictError](err); ok {
		fmt.Println(other.Client, "uses", other.Other)
		return
	}
	fmt.Println(err)
	// Output: <nil>
}

// A deferred Unlock releases the lock also when its context has ended meanwhile.
func ExampleErrNotAwaited() {
	fleet := redlocktest.New(3)
	defer fleet.Close()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx, cancel := context.WithCancel(context.Background())
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range fleet.Masters() {
		m.Freeze() // the confirmation takes its time
		defer m.Thaw()
	}
	cancel()
	err = hold.Unlock(ctx)
	fmt.Println("sent, and not waited for:", errors.Is(err, redlock.ErrNotAwaited), errors.Is(err, context.Canceled))
	fmt.Println("something is wrong:", errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrLost))
	// Output:
	// sent, and not waited for: true true
	// something is wrong: false
}

// A worker under a hold does not hold the lock: a Lock that would wait for itself is refused at once.
func ExampleErrHeld() {
	client, done := exampleClient()
	defer done()

	err := client.Do(context.Background(), "orders:42", func(ctx context.Context) error {
		return client.Do(ctx, "orders:42", func(context.Context) error { return nil })
	})
	fmt.Println(errors.Is(err, redlock.ErrHeld))
	// Output: true
}
