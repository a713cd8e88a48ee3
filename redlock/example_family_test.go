package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

// Readers of a report share its name. Whoever rewrites it has the name alone.
func ExampleShared() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	one, err := client.Lock(ctx, "report", redlock.Shared())
	if err != nil {
		log.Fatal(err)
	}
	another, err := client.Lock(ctx, "report", redlock.Shared())
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.TryLock(ctx, "report")
	fmt.Println("a writer beside two readers:", errors.Is(err, redlock.ErrTaken))

	_ = one.Unlock(ctx)
	_ = another.Unlock(ctx)
	writer, err := client.Lock(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	defer writer.Unlock(ctx)
	_, err = client.TryLock(ctx, "report", redlock.Shared())
	fmt.Println("a reader beside a writer:", errors.Is(err, redlock.ErrTaken))
	// Output:
	// a writer beside two readers: true
	// a reader beside a writer: true
}

// A writer that has written goes on reading what it wrote, and lets other readers in meanwhile.
func ExampleHold_Downgrade() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	if err := hold.Downgrade(ctx); err != nil { // no other writer had the name in between
		log.Fatal(err)
	}
	err = client.Do(ctx, "report", func(context.Context) error {
		fmt.Println("another reader beside it, which is one too:", hold.Shared())
		return nil
	}, redlock.Shared())
	fmt.Println(err)
	// Output:
	// another reader beside it, which is one too: true
	// <nil>
}

// Two jobs at most use the GPUs at a time, in the whole fleet.
func ExamplePermits() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	gpus := redlock.Permits(2)
	var permits []*redlock.Hold
	for range 2 {
		permit, err := client.Lock(ctx, "gpu", gpus)
		if err != nil {
			log.Fatal(err)
		}
		permits = append(permits, permit)
	}
	fmt.Println("slots differ:", permits[0].Slot() != permits[1].Slot())

	_, err := client.TryLock(ctx, "gpu", gpus)
	fmt.Println("none is left:", errors.Is(err, redlock.ErrTaken))

	_ = permits[0].Unlock(ctx)
	permit, err := client.TryLock(ctx, "gpu", gpus)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the one that was given back:", permit.Slot() == permits[0].Slot())
	_ = permit.Unlock(ctx)
	_ = permits[1].Unlock(ctx)
	// Output:
	// slots differ: true
	// none is left: true
	// the one that was given back: true
}

// A permit's slot is a number that no other holder has at the same time: here, that of a device.
func ExamplePermitSlot() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	gpus := redlock.Permits(2)
	used := make(map[int]bool)
	render := func(ctx context.Context) error {
		slot, ok := redlock.PermitSlot(ctx)
		used[slot] = ok
		return nil
	}
	err := client.Do(ctx, "gpu", func(ctx context.Context) error {
		return errors.Join(render(ctx), client.Do(ctx, "gpu", render, gpus))
	}, gpus)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(used)

	permit, err := client.Lock(ctx, "gpu", gpus)
	if err != nil {
		log.Fatal(err)
	}
	freed, err := redlockadmin.Of(client).ForceReleaseSlot(ctx, "gpu", permit.Slot()) // an operator, if its holder hangs
	fmt.Println(freed, err)
	// Output:
	// map[0:true 1:true]
	// true <nil>
}
