package clock

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Instant is a moment in the life of this process, by CLOCK_BOOTTIME. It means nothing to another process.
type Instant = boot

// suspended is how long this machine is known to have been suspended since it booted. It only grows.
var suspended atomic.Int64

// ahead is how far the wall clock was ahead of the monotonic clock, both counted from epoch, when
// suspended was last looked up.
var ahead atomic.Int64

// tolerance is how far the two clocks may move apart before suspended is looked up again. It is far
// less than the drift that every validity allows for.
const tolerance = 500 * time.Microsecond

// Now returns the present instant, by CLOCK_BOOTTIME.
//
// It adds Go's monotonic clock and the time spent in suspend, rather than reading CLOCK_BOOTTIME
// directly, so that it stands still with the time of a synctest bubble.
//
// Reading CLOCK_BOOTTIME is a system call, but Go reads the wall clock and the monotonic clock
// together without one. Only suspend, or somebody setting the wall clock, moves those two against
// each other. So Now makes the system call only when they have moved.
func Now() Instant { return at(time.Now()) }

func at(now time.Time) Instant {
	mono := now.Sub(epoch)
	shift := time.Duration(now.UnixNano()-epoch.UnixNano()) - mono
	if moved := shift - time.Duration(ahead.Load()); moved.Abs() >= tolerance {
		lookUp()
		ahead.Store(int64(shift))
	}
	return Instant{mono + time.Duration(suspended.Load())}
}

// Suspended returns how long this machine is known to have been suspended so far. Go's timers stand
// still in suspend, so code that relies on one checks again when Suspended has grown.
func Suspended() time.Duration {
	Now()
	return time.Duration(suspended.Load())
}

// lookUp is timeSuspended, except in tests.
var lookUp = timeSuspended

// Time that the machine was suspended before this process started must not count in any interval.
func init() { timeSuspended() }

// timeSuspended raises suspended to what the clocks say now.
//
// CLOCK_MONOTONIC is read last, so the difference of the two clocks is never too large, however long
// the scheduler paused us in between. A difference below the known time tells nothing new. So two
// instants can be compared to the nanosecond.
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
