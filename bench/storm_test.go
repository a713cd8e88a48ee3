package main

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// All clients start at the same time, which is when the first wait of each begins.
func TestRush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := make(chan struct{}, 1)
		waits, took, err := rush(t.Context(), 3, stormTimes, func(int) string { return "name" }, func() (client, error) {
			time.Sleep(time.Second)
			return exclusive{lock, 30 * time.Millisecond, 20 * time.Millisecond}, nil
		})
		if err != nil || len(waits) != 3*stormTimes {
			t.Fatalf("rush = %d waits, %v, want %d", len(waits), err, 3*stormTimes)
		}
		if want := time.Second + 3*stormTimes*50*time.Millisecond; took != want {
			t.Errorf("it took %v, want %v: they start at once, and hold the lock in turn", took, want)
		}
		slices.Sort(waits)
		if first := time.Second + 30*time.Millisecond; !slices.Contains(waits, first) {
			t.Errorf("waits = %v, want one of %v: starting is part of it", waits, first)
		}
		if shortest := waits[0]; shortest > 130*time.Millisecond {
			t.Errorf("the shortest wait is %v, want at most that for two others: it begins after the Unlock", shortest)
		}
	})
}
