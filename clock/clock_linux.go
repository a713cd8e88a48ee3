package clock

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// suspended is the time this machine is known to have spent in suspend since it
// booted. It only grows.
var suspended atomic.Int64

// ahead is by how much the wall clock was ahead of the monotonic one, counted from epoch,
// when suspended was last raised.
var ahead atomic.Int64

// tolerance is how far the two may drift apart before the time in suspend is looked up
// again: far less than the drift that every validity allows for.
const tolerance = 500 * time.Microsecond

// Now returns the present instant, by CLOCK_BOOTTIME.
//
// It is put together from Go's monotonic clock and the time spent in suspend, rather
// than read directly, so that it stands still with the time of a synctest bubble.
//
// To read CLOCK_BOOTTIME is a system call. Suspend, and nothing else but somebody who sets
// the wall clock, moves that clock against the monotonic one, and Go reads both at once
// without a system call. So the call is made when they have moved.
func Now() Instant {
	now := time.Now()
	mono := now.Sub(epoch)
	shift := now.Round(0).Sub(epoch.Round(0)) - mono
	if moved := shift - time.Duration(ahead.Load()); moved.Abs() >= tolerance {
		lookUp()
		ahead.Store(int64(shift))
	}
	d := mono + time.Duration(suspended.Load())
	return Instant{mono: d, wall: d}
}

// Suspended returns how long this machine is known to have been in suspend so far. It is for
// those whose timers stand still then, as Go's do: they look again when it has grown.
func Suspended() time.Duration {
	Now()
	return time.Duration(suspended.Load())
}

// lookUp is timeSuspended, but for tests.
var lookUp = timeSuspended

// Instants count from a known time in suspend, not from none.
func init() { timeSuspended() }

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
	// These clocks have existed since Linux 2.6.39; the call cannot fail.
	_ = unix.ClockGettime(id, &ts)
	return time.Duration(ts.Nano())
}
