package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// When one set of masters is not enough, names are spread over several, which have nothing to do with
// each other.
func ExampleNewSets() {
	sets, err := redlock.NewSets(redlock.SetsConfig{Sets: map[string]redlock.Config{
		"1": exampleMasters(),
		"2": exampleMasters(),
		"3": exampleMasters(),
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer sets.Close()

	for _, name := range []string{"orders:42", "orders:43", "invoices:7"} {
		err := sets.Do(context.Background(), name, func(context.Context) error {
			fmt.Println(name, "is locked in set", redlockadmin.Of(sets).SetsOf(name))
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// orders:42 is locked in set [2]
	// orders:43 is locked in set [3]
	// invoices:7 is locked in set [2]
}

// A third set is added. In the first rollout, each process starts with the sets of now and those of next,
// and locks names that move in both. In the second, it starts with the new ones alone.
func ExampleSetsConfig_next() {
	cfg := redlock.SetsConfig{
		Sets: map[string]redlock.Config{"1": exampleMasters(), "2": exampleMasters(), "3": exampleMasters()},
		Now:  []string{"1", "2"},
		Next: []string{"1", "2", "3"},
	}
	sets, err := redlock.NewSets(cfg)
	if err != nil {
		log.Fatal(err)
	}
	defer sets.Close()

	for _, name := range []string{"orders:42", "orders:43", "invoices:7"} {
		fmt.Println(name, "is locked in", redlockadmin.Of(sets).SetsOf(name))
	}
	// Output:
	// orders:42 is locked in [2]
	// orders:43 is locked in [1 3]
	// invoices:7 is locked in [2]
}

// A process that was started with the sets from before both rollouts takes no lock.
func ExampleErrRoute() {
	ctx := context.Background()
	one, two, three := exampleMasters(), exampleMasters(), exampleMasters()

	fleet, err := redlock.NewSets(redlock.SetsConfig{Sets: map[string]redlock.Config{"1": one, "2": two, "3": three}})
	if err != nil {
		log.Fatal(err)
	}
	defer fleet.Close()
	if err := fleet.Do(ctx, "orders:42", func(context.Context) error { return nil }); err != nil {
		log.Fatal(err)
	}

	late, err := redlock.NewSets(redlock.SetsConfig{Sets: map[string]redlock.Config{"1": one, "2": two}})
	if err != nil {
		log.Fatal(err)
	}
	defer late.Close()
	_, err = late.Lock(ctx, "orders:42")
	if why, ok := errors.AsType[*redlock.ConflictError](err); ok && errors.Is(err, redlock.ErrRoute) {
		fmt.Printf("others have %s, and this process %s\n", why.Other.Route(), why.Own.Route()) // why.Client: who, if that is known
	}
	fmt.Println("as it goes on:", redlockadmin.Of(late).Conflict() != nil)
	// Output:
	// others have the sets 1, 2, 3, and this process the sets 1, 2
	// as it goes on: true
}

// exampleMasters are three masters in memory. (Real ones are three other servers for each set.)
func exampleMasters() redlock.Config {
	return redlock.Config{Pools: redlocktest.New(3).Pools(), RestartGuard: redlock.GuardOff}
}
