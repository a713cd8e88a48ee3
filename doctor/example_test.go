package doctor_test

import (
	"context"
	"fmt"

	"example.com/redlock/doctor"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// A test of a deployment says what is wrong with its masters.
func ExampleExamine() {
	fleet := redlocktest.New(3)
	defer fleet.Close()
	fleet.Master(1).SetRole("slave") // what a failover may do

	report, err := doctor.Examine(context.Background(), redlock.Config{Pools: fleet.Pools()}, "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("safe:", report.Safe())
	for _, f := range report.Findings {
		if f.Severity >= doctor.Warning {
			fmt.Println(f.ID, f.Masters, f.Verdict)
		}
	}
	// Output:
	// safe: true
	// quorum [] 2 of 3 masters can grant a lock, and 2 are needed: none of these may fail
	// role [pool 1] is a replica, not a master (of 127.0.0.1:6379)
}
