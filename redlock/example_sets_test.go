package redlock_test

import (
	"context"
	"fmt"
	"log"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// When one set of masters is not enough, names are spread over several, which have nothing to do with
// each other.
func ExampleSets() {
	sets, err := redlock.NewSets(exampleSet("1"), exampleSet("2"), exampleSet("3"))
	if err != nil {
		log.Fatal(err)
	}
	defer sets.Close()

	for _, name := range []string{"orders:42", "orders:43", "invoices:7"} {
		err := sets.Do(context.Background(), name, func(context.Context) error {
			fmt.Println(name, "is locked in set", sets.SetOf(name))
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// orders:42 is locked in set 2
	// orders:43 is locked in set 3
	// invoices:7 is locked in set 2
}

// A third set is added while names are locked.
func ExampleSets_Change() {
	first, second, third := exampleSet("1"), exampleSet("2"), exampleSet("3")
	sets, err := redlock.NewSets(first, second)
	if err != nil {
		log.Fatal(err)
	}
	defer sets.Close()

	ctx := context.Background()
	if err := sets.Change(ctx, first, second, third); err != nil { // in every process
		log.Fatal(err)
	}
	// … and when it has returned in every process, also in every process:
	fmt.Println(sets.Finish(ctx))
	// Output: <nil>
}

// exampleSet is a set of three masters in memory. (Real ones are three other servers for each set.)
func exampleSet(id string) redlock.Set {
	client, err := redlock.New(redlock.Config{Pools: redlocktest.New(3).Pools(), RestartGuard: -1})
	if err != nil {
		log.Fatal(err)
	}
	return redlock.Set{ID: id, Client: client}
}
