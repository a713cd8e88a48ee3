package clock

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// suspended is the time this machine is known to have spent in suspend since it
// booted. It only grows.
var suspended atomic.Int64

// Now returns the present instant, by CLOCK_BOOTTIME.
//
// It is put together from Go's monotonic clock and the time spent in suspend, rather
// than read directly, so that it stands still with the time of a synctest bubble.
func Now() Instant {
	d := time.Since(epoch) + timeSuspended()
	return Instant{mono: d, wall: d}
}

// timeSuspended raises what is known of the time in suspend to what the clocks say now.
//
// CLOCK_MONOTONIC is read last, so their difference is never too large, however long
// the scheduler kept us away in between; where it is smaller than the known time, it
// says nothing new. Two instants can therefore be compared to the nanosecond.
func timeSuspended() time.Duration {
	boot := read(unix.CLOCK_BOOTTIME)
	mono := read(unix.CLOCK_MONOTONIC)
	return raise(&suspended, boot-mono)
}

func raise(known *atomic.Int64, least time.Duration) time.Duration {
	for {
		k := known.Load()
		if k >= int64(least) {
			return time.Duration(k)
		}
		if known.CompareAndSwap(k, int64(least)) {
			return least
		}
	}
}

func read(id int32) time.Duration {
	var ts unix.Timespec
	// These clocks have existed since Linux 2.6.39; the call can not fail.
	_ = unix.ClockGettime(id, &ts)
	return time.Duration(ts.Nano())
}
