package workload

import (
	"math"
	"math/rand/v2"
	"time"

	"example.com/redlock/internal/history"
)

// What all processes of a trial fight over: few names, so that they meet.
const (
	readWrite = "rw" // is locked for reading, too
	semaphore = "p"
	permits   = 2
)

// locks are the names that are locked, one at a time or several at once.
var locks = []string{"a", "b", "c"}

// draw is a caller's source of randomness.
type draw struct{ *rand.Rand }

// chance is true in percent of a hundred cases.
func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

// name returns one of the locks.
func (d draw) name() string { return locks[d.IntN(len(locks))] }

// names returns two or more of the locks, in any order.
func (d draw) names() []string {
	names := make([]string, 0, len(locks))
	for _, i := range d.Perm(len(locks))[:2+d.IntN(len(locks)-1)] {
		names = append(names, locks[i])
	}
	return names
}

// between returns a duration from least to most, each order of magnitude as likely as another.
func (d draw) between(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Exp(d.Float64()*math.Log(float64(most)/float64(least))))
}

// patience is how long a call that waits may take, 0 for as long as it likes.
func (d draw) patience() time.Duration {
	if d.chance(10) {
		return 0
	}
	return d.between(5*time.Millisecond, 5*time.Second)
}

// stay is how long a visit lasts: mostly a moment, sometimes longer than a lease.
func (d draw) stay(lease time.Duration) time.Duration {
	if d.chance(8) {
		return d.between(60*time.Millisecond, 2*lease)
	}
	return d.between(time.Millisecond, 60*time.Millisecond)
}

// compute is how long it takes to work out what is to be written.
func (d draw) compute() time.Duration { return d.between(100*time.Microsecond, 60*time.Millisecond) }

// think is the pause between two visits, mean on average.
func (d draw) think(mean time.Duration) time.Duration {
	return min(10*mean, time.Duration(d.ExpFloat64()*float64(mean)))
}

// kind draws what to ask for.
func (d draw) kind() history.Do {
	n := d.IntN(totalOdds)
	for _, o := range odds {
		if n -= o.of; n < 0 {
			return o.do
		}
	}
	return history.Lock // not reached: the odds add up
}

// odds are how often callers ask for what.
var odds = []struct {
	do history.Do
	of int
}{
	{history.Lock, 35},
	{history.TryLock, 12},
	{history.LockFor, 8},
	{history.RLock, 15},
	{history.TryRLock, 5},
	{history.LockAll, 8},
	{history.Acquire, 12},
	{history.TryAcquire, 5},
}

// totalOdds is the sum of odds.
const totalOdds = 100
