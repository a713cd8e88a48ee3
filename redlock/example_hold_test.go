package redlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"example.com/redlock/redlock"
)

// A hold knows how long it is valid, and can be extended.
func ExampleHold_Extend() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.TryLock(ctx, "orders:42", redlock.Lease(5*time.Second))
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
	holds, err := client.TryLockAll(ctx, []string{"account:3", "account:7"})
	if err != nil {
		log.Fatal(err)
	}
	defer holds.Unlock(ctx)
	fmt.Println(holds.Extend(ctx, 30*time.Second))
	fmt.Println("the first to end has time left:", holds.Remaining() > 20*time.Second)

	// Output:
	// <nil>
	// the first to end has time left: true
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
