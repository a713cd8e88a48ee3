package main

import (
	"testing"
	"testing/synctest"
	"time"
)

// What a side waits for between its turns is not in its throughput.
func TestSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &side{cl: &fake{acquire: 6 * time.Millisecond, release: 4 * time.Millisecond}, names: names(), callers: make([]strokes, 1)}
		for range 2 {
			if err := s.turn(t.Context(), &fleet{}, 95*time.Millisecond); err != nil {
				t.Fatalf("turn = %v", err)
			}
			time.Sleep(time.Second)
		}
		if n, p50 := len(s.acquires()), s.acquires().percentile(50); n != 20 || p50 != 6*time.Millisecond {
			t.Errorf("acquires = %d with a median of %v, want 20 of 6ms", n, p50)
		}
		if got := s.throughput(); got != 100 {
			t.Errorf("throughput = %v, want 100", got)
		}
	})
}
