package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Operators see which names are held, by whom, and who uses the masters.
func ExampleClient_List() {
	fleet := redlocktest.New(3)
	defer fleet.Close()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), Name: "orders-api"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx := context.Background()
	holds, err := client.LockAll(ctx, "orders:42", "orders:43", "invoices:7")
	if err != nil {
		log.Fatal(err)
	}
	defer holds.Unlock(ctx)

	listing, err := client.List(ctx, "orders:*", 100)
	if err != nil {
		log.Fatal(err)
	}
	for _, listed := range listing.Locks {
		fmt.Println(listed.Name, "is held by us:", listed.Holder == holds.Hold(listed.Name).Owner())
	}
	fmt.Println("there may be more:", listing.More)

	clients, err := client.Clients(ctx)
	if err != nil {
		log.Fatal(err)
	}
	others := 0
	for _, c := range clients { // a client's record is there soon after it has connected
		if c.ID != client.ID() {
			fmt.Println(c.Name, "on", c.Host, "has", c.Holds)
			others++
		}
	}
	fmt.Println("other clients:", others)
	// Output:
	// orders:42 is held by us: true
	// orders:43 is held by us: true
	// there may be more: false
	// other clients: 0
}

// Clients must agree on the masters, and leases must fit the restart guards of all. A newcomer that does not
// fit takes no lock until that is mended; the others go on.
func ExampleClient_Conflict() {
	client, done := exampleClient()
	defer done()

	switch err := client.Conflict(); {
	case errors.Is(err, redlock.ErrOverlap):
		fmt.Println("somebody uses other masters together with ours:", err)
	case errors.Is(err, redlock.ErrShortGuard):
		fmt.Println("raise RestartGuard everywhere before Lease:", err)
	default:
		fmt.Println("as far as is known:", err)
	}

	clients, err := client.Clients(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for i := range clients { // for all clients
		for j := range clients[:i] {
			one, other := &clients[i], &clients[j]
			switch err := one.Conflict(other); {
			case err != nil:
				fmt.Println(one.String(), "and", other.String(), err)
			case !one.Proven(other):
				fmt.Println(one.String(), "and", other.String(), "are not known to be safe together yet")
			}
		}
	}
	// Output:
	// as far as is known: <nil>
}
