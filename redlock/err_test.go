package redlock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// At the instant at which validity ends, Err of a hold's context says so whether or not the timer
// has fired yet: which of the two comes first is up to the scheduler, so it is tried often.
func TestErrDoesNotWaitForTheTimer(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			fleet := redlocktest.Start(t, 1)
			c := open(t, fleet, redlock.Config{})
			hold, err := c.LockFor(t.Context(), "a", time.Second)
			if err != nil {
				t.Fatalf("LockFor = %v", err)
			}
			time.Sleep(hold.Remaining())
			if hold.Context().Err() == nil {
				t.Fatal("Err is nil at the end of validity")
			}
		})
	}
}
