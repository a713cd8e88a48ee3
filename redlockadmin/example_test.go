package redlockadmin_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// Inspect shows who has a name and who waits for it, and takes nothing.
func ExampleAdmin_Inspect() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Unlock(ctx)

	seen, err := redlockadmin.Of(client).Inspect(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held:", seen.Held, "by us:", seen.Holder == hold.Owner() && strings.HasPrefix(hold.Owner(), redlockadmin.Of(client).IDs()[0]))
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
	reader, err := client.Lock(ctx, "report", redlock.Shared(), redlock.Lease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Unlock(ctx)
	another, err := client.TryLock(ctx, "report", redlock.Shared(), redlock.Lease(20*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer another.Unlock(ctx)

	seen, err := redlockadmin.Of(client).Inspect(ctx, "report")
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
		fmt.Println(whose, "has more than 10 s left:", r.Remaining > 10*time.Second)
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

// A semaphore shows who has its permits. An operator takes all of them away.
func ExampleAdmin_InspectSemaphore() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	permit, err := client.Lock(ctx, "gpu", redlock.Permits(4), redlock.Lease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer permit.Unlock(ctx)
	another, err := client.TryLock(ctx, "gpu", redlock.Permits(4))
	if err != nil {
		log.Fatal(err)
	}
	defer another.Unlock(ctx)

	admin := redlockadmin.Of(client)
	seen, err := admin.InspectSemaphore(ctx, "gpu")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(seen.Slots), "permits of", seen.Name, "are held")
	for _, slot := range seen.Slots {
		fmt.Println("ours:", slot.Owner == permit.Owner() && slot.Number == permit.Slot() || slot.Owner == another.Owner() && slot.Number == another.Slot())
	}
	fmt.Println(len(seen.Masters[0].Slots), "at the first master, where", len(seen.Masters[0].Queue), "wait")
	fmt.Println(admin.ForceRelease(ctx, "gpu"))
	// Output:
	// 2 permits of gpu are held
	// ours: true
	// ours: true
	// 2 at the first master, where 0 wait
	// true <nil>
}

// Operators see which names are held, and by whom.
func ExampleAdmin_List() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	holds, err := client.LockAll(ctx, []string{"orders:42", "orders:43", "invoices:7"})
	if err != nil {
		log.Fatal(err)
	}
	defer holds.Unlock(ctx)

	admin := redlockadmin.Of(client)
	for listed, err := range admin.List(ctx, "orders:*", "", 100) {
		if errors.Is(err, redlockadmin.ErrMore) { // it comes last
			fmt.Println("there may be more")
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(listed.Name, "is held by us:", listed.Holder == holds.Hold(listed.Name).Owner())
	}
	// Output:
	// orders:42 is held by us: true
	// orders:43 is held by us: true
}

// A page shows how many clients use the masters in which way: one line, unless a rollout is under way.
func ExampleAdmin_Clients() {
	client, done := exampleClient()
	defer done()

	clients, err := redlockadmin.Of(client).Clients(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	alike := map[string][]redlock.ClientInfo{}
	for _, c := range clients {
		alike[c.Terms.Key()] = append(alike[c.Terms.Key()], c)
	}
	for _, some := range alike {
		t := some[0].Terms
		fmt.Printf("%d clients use %v, with leases of up to %v and a guard of %v\n", len(some), t, t.Lease, t.Guard)
	}
	fmt.Println("ways to use the masters:", len(alike)) // this client keeps a record once it was asked for a lock
	// Output:
	// ways to use the masters: 0
}

// Clients must agree on the masters, and leases must fit the restart guards of all. A newcomer that does not
// fit takes no lock until that is mended; the others go on.
func ExampleAdmin_Conflict() {
	client, done := exampleClient()
	defer done()

	switch err := redlockadmin.Of(client).Conflict(); {
	case errors.Is(err, redlock.ErrOverlap):
		fmt.Println("somebody uses other masters together with ours:", err)
	case errors.Is(err, redlock.ErrShortGuard):
		fmt.Println("raise RestartGuard everywhere before Lease:", err)
	case errors.Is(err, redlock.ErrLayout):
		fmt.Println("two versions of the library that store locks in two ways:", err)
	default:
		fmt.Println("as far as is known:", err)
	}

	clients, err := redlockadmin.Of(client).Clients(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for i, one := range clients { // for all clients
		for _, other := range clients[:i] {
			switch proven, err := one.Terms.Compare(other.Terms); {
			case err != nil:
				fmt.Println(one, "and", other, err)
			case !proven:
				fmt.Println(one, "and", other, "are not known to be safe together yet")
			}
		}
	}
	// Output:
	// as far as is known: <nil>
}

// exampleClient is a client of three masters in memory, and what ends them.
func exampleClient() (client *redlock.Client, done func()) {
	fleet := redlocktest.New(3)
	client, err := redlock.New(redlock.Config{Pools: fleet.Pools(), NodeTimeout: 10 * time.Second})
	if err != nil {
		panic(err)
	}
	return client, func() {
		client.Close()
		fleet.Close()
	}
}

// An operator frees a lock whose holder hangs.
func ExampleAdmin_ForceUnlock() {
	client, done := exampleClient()
	defer done()

	ctx := context.Background()
	hold, err := client.Lock(ctx, "orders:42")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(redlockadmin.Of(client).ForceUnlock(ctx, "orders:42"))
	fmt.Println("its holder hears of it:", errors.Is(hold.Unlock(ctx), redlock.ErrLost))
	// Output:
	// true <nil>
	// its holder hears of it: true
}
