package redlock_test

import (
	"context"
	"fmt"
	"log"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

func ExampleTrace() {
	fleet := redlocktest.New(3)
	defer fleet.Close()
	client, err := redlock.New(redlock.Config{
		Pools: fleet.Pools(),
		Trace: &redlocktrace.Trace{
			CallStarted: func(e redlocktrace.CallStarted) {
				fmt.Printf("call %d wants the %s %s\n", e.ID, e.Kind, e.Name)
			},
			Decided: func(e redlocktrace.Decided) {
				fmt.Printf("call %d: %s, %d masters needed\n", e.ID, e.Decision, e.Need)
			},
			CallDone: func(e redlocktrace.CallDone) {
				fmt.Printf("call %d: %s in %d round\n", e.ID, e.Outcome, e.Rounds)
			},
			HoldEnded: func(e redlocktrace.HoldEnded) {
				fmt.Printf("the hold of call %d: %s\n", e.ID, e.End)
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	err = client.Do(context.Background(), "orders:42", func(context.Context) error { return nil })
	if err == nil {
		err = client.Close() // everything has been told when it returns
	}
	if err != nil {
		fmt.Println(err)
	}

	// Output:
	// call 1 wants the lock orders:42
	// call 1: won, 2 masters needed
	// call 1: acquired in 1 round
	// the hold of call 1: unlocked
}
