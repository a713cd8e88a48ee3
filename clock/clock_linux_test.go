package clock

import (
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"example.com/redlock/internal/check"
)

func TestRaiseCountsSuspendAndNothingElse(t *testing.T) {
	var known atomic.Int64
	for _, tt := range []struct {
		name        string
		least, want time.Duration
	}{
		{"first reading", 1000, 1000},
		{"same, with more time between the reads", 990, 1000},
		{"same, paused by the scheduler between the reads", -5_000_000, 1000},
		{"an hour of suspend", time.Hour, time.Hour},
		{"still there", time.Hour - 200, time.Hour},
	} {
		check.Equal(t, raise(&known, tt.least), tt.want, "%s: raise(%d)", tt.name, tt.least)
	}
}

// In suspend the wall clock goes on and the monotonic clock does not. Only when the two have moved
// apart is the time in suspend looked up.
func TestNowCountsSuspend(t *testing.T) {
	looked := 0
	lookUp = func() time.Duration {
		looked++
		return raise(&suspended, time.Duration(suspended.Load())+time.Hour) // this cannot be undone, but no other test depends on it
	}
	defer func() { lookUp = timeSuspended }()
	now := epoch.Add(time.Minute) // both clocks have moved alike, as those that are read may not have
	start := at(now)
	looked = 0
	if at(now); looked > 0 {
		t.Errorf("the time in suspend was looked up %d times, want none", looked)
	}
	ahead.Add(-int64(time.Hour)) // as if the clocks had moved
	if got := at(now).Sub(start); got != time.Hour || looked != 1 {
		t.Errorf("after an hour of suspend, %v have passed, looked up %d times; want an hour and once", got, looked)
	}
	ahead.Add(2 * int64(tolerance)) // set back
	if at(now); looked != 2 {
		t.Errorf("looked up %d times after the wall clock was set back, want once more", looked)
	}
}

// TestSuspendedIsWhatTheBootClockHasMore: a time namespace has the boot clock an hour ahead of the
// monotonic clock, as after an hour of suspend.
func TestSuspendedIsWhatTheBootClockHasMore(t *testing.T) {
	const inside = "CLOCK_TEST_INSIDE"
	if os.Getenv(inside) != "" {
		if got := Suspended().Round(time.Second); got < time.Hour {
			t.Errorf("Suspended() = %v, want an hour or more", got)
		}
		return
	}
	namespace := []string{"--user", "--map-root-user", "--time", "--boottime=3600"}
	if err := exec.CommandContext(t.Context(), "unshare", append(namespace, "true")...).Run(); err != nil {
		t.Skipf("no time namespace: %v", err)
	}
	child := exec.CommandContext(t.Context(), "unshare", append(namespace, os.Args[0], "-test.run=^"+t.Name()+"$")...)
	child.Env = append(os.Environ(), inside+"=1")
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("in a time namespace: %v\n%s", err, out)
	}
}
