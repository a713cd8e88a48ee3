package main

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestRested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		f := &fake{acquire: time.Millisecond}
		acquires, err := rested(t.Context(), f, pause{least: 4 * time.Millisecond, spread: 2 * time.Millisecond},
			func(n int) bool { return n < 100 })
		if err != nil || len(acquires) != 100 || acquires.percentile(100) != time.Millisecond {
			t.Errorf("rested = %v, %v, want 100 times 1ms", acquires, err)
		}
		if took := time.Since(start); took < 500*time.Millisecond || took > 700*time.Millisecond {
			t.Errorf("rested took %v, want a pause of 4 to 6ms before each of 100", took)
		}
	})
}
