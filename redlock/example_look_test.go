package redlock_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"example.com/redlock/redlock"
)

// Inspect shows who has a name and who waits for it, and takes nothing.
func ExampleClient_Inspect() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	seen, err := client.Inspect(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", seen.Held, "by us:", seen.Holder == hold.Owner() && strings.HasPrefix(hold.Owner(), client.ID()))
	for i, master := range seen.Masters {
		if master.Err != nil {
			fmt.Println("master", i, "does not answer:", master.Err)
			continue
		}
		fmt.Println("master", i, "has our token:", master.Token == hold.Token(), "waiting:", len(master.Queue))
	}
	// Output:
	// held: true by us: true
	// master 0 has our token: true waiting: 0
	// master 1 has our token: true waiting: 0
	// master 2 has our token: true waiting: 0
}

// Of a name that is shared, Inspect shows each reader and how long it stays without a renewal.
func ExampleReader() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	reader, err := client.RLockFor(ctx, "report", 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Unlock(ctx)
	another, err := client.TryRLockFor(ctx, "report", 20*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer another.Unlock(ctx)

	seen, err := client.Inspect(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range seen.Readers {
		var whose string
		switch r.Owner {
		case reader.Owner():
			whose = "the first"
		case another.Owner():
			whose = "the other"
		}
		fmt.Println(whose, "has more than 10 s left:", r.Left > 10*time.Second)
	}
	for _, master := range seen.Masters {
		for _, w := range master.Queue {
			fmt.Println(w.Owner, "waits to read:", w.Shared)
		}
	}
	// Output:
	// the first has more than 10 s left: false
	// the other has more than 10 s left: true
}

// A hold knows how long it is valid, and can be extended.
func ExampleHold_Extend() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.TryLockFor(ctx, "orders:42", 5*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)
	fmt.Println("up to 5 s:", hold.Remaining() > 0 && hold.Remaining() <= 5*time.Second)

	before := hold.Until()
	if err := hold.Extend(ctx, 20*time.Second); err != nil {
		log.Fatal(err)
	}
	fmt.Println("at least 10 s more:", hold.Until().Sub(before) > 10*time.Second)
	// Output:
	// up to 5 s: true
	// at least 10 s more: true
}

// Several names are extended together.
func ExampleHolds_Extend() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	holds, err := client.TryLockAll(ctx, "account:3", "account:7")
	if err != nil {
		log.Fatal(err)
	}
	defer holds.Unlock(ctx)
	fmt.Println(holds.Extend(ctx, 30*time.Second))
	fmt.Println("the first to end has time left:", holds.Remaining() > 20*time.Second)

	// The same for names at several clients.
	more, err := redlock.TryLockAll(ctx, client.Name("account:8"), client.Name("account:9"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(more.Unlock(ctx))
	// Output:
	// <nil>
	// the first to end has time left: true
	// <nil>
}

// A semaphore shows who has its permits. An operator takes all of them away.
func ExampleSemaphore_Inspect() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	gpus := client.Semaphore("gpu", 4)
	permit, err := gpus.AcquireFor(ctx, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer permit.Unlock(ctx)
	another, err := gpus.TryAcquireFor(ctx, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer another.Unlock(ctx)

	seen, err := gpus.Inspect(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(seen.Slots), "of", gpus.Permits(), "permits of", gpus.Name(), "are held")
	fmt.Println(len(seen.Masters[0].Slots), "at the first master, where", len(seen.Masters[0].Queue), "wait")
	fmt.Println(gpus.ForceRelease(ctx))
	// Output:
	// 2 of 4 permits of gpu are held
	// 2 at the first master, where 0 wait
	// true <nil>
}

// WithDefaults shows what New makes of a Config, and refuses what New would refuse.
func ExampleConfig_WithDefaults() {
	config, err := redlock.Config{Masters: []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}}.WithDefaults()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("lease", config.Lease, "guard", config.RestartGuard, "timeout", config.NodeTimeout)
	_, err = redlock.Config{}.WithDefaults()
	fmt.Println(err)
	// Output:
	// lease 30s guard 30s timeout 500ms
	// redlock: Config has no Masters and no Pools
}
