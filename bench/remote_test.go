package main

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The last of the clients that start together has waited for all the others.
func TestLockTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		valid time.Duration
		lost  int
	}{{"kept", 0, 0}, {"lost", time.Millisecond, 4}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := exclusive{make(chan struct{}, 1), 30 * time.Millisecond, 20 * time.Millisecond, c.valid}
				got, err := lockTogether(t.Context(), slices.Repeat([]client{cl}, 4), "name")
				// Each of three has it for 10 ms.
				if want := (crowd{3*60*time.Millisecond + 30*time.Millisecond, c.lost}); err != nil || got != want {
					t.Errorf("lockTogether = %v, %v, want %v", got, err, want)
				}
			})
		})
	}
}
