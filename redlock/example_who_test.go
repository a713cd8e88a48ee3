package redlock_test

import (
	"context"
	"fmt"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// Operators see which names are held, by whom, and who uses the masters.
func ExampleClient_List() {
	fleet := redlocktest.New(3)
	defer fleet.Close()
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), Name: "orders-api"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ctx := context.Background()
	holds, err := client.LockAll(ctx, "orders:42", "orders:43", "invoices:7")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer holds.Unlock(ctx)

	listing, err := client.List(ctx, "orders:*", 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, listed := range listing.Locks {
		fmt.Println(listed.Name, "is held by us:", listed.Holder == holds.Hold(listed.Name).Owner())
	}
	fmt.Println("there may be more:", listing.More)

	clients, err := client.Clients(ctx)
	if err != nil {
		fmt.Println(err)
		return
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
