package clock

import (
	"sync/atomic"
	"testing"
	"time"
)

func TestRaiseCountsSuspendAndNothingElse(t *testing.T) {
	var known atomic.Int64
	for _, tt := range []struct {
		name        string
		least, want time.Duration
	}{
		{"first reading", 1000, 1000},
		{"same, read less tightly", 990, 1000},
		{"same, the scheduler took us away", -5_000_000, 1000},
		{"an hour of suspend", time.Hour, time.Hour},
		{"still there", time.Hour - 200, time.Hour},
	} {
		if got := raise(&known, tt.least); got != tt.want {
			t.Errorf("%s: raise(%d) = %d, want %d", tt.name, tt.least, got, tt.want)
		}
	}
}

func TestNowCountsSuspend(t *testing.T) {
	start := Now()
	suspended.Add(int64(time.Hour)) // it only grows, so this stays; no other test minds
	if got := Since(start); got < time.Hour {
		t.Errorf("after an hour of suspend, %v have passed", got)
	}
}
