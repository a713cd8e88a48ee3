package workload

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

// caller is a goroutine that takes locks.
type caller struct {
	*process
	draw
	tree context.Context // of this visit: it has an owner, or is nil
	left []*held         // that Close is to give back
}

// visits makes one visit after another until no more calls are to begin. When waits ends, calls that wait give up.
func (c *caller) visits(waits context.Context) {
	for {
		think := c.cfg.Think
		if c.calm.Load() {
			think /= 20
		}
		c.pause(c.think(think))
		switch {
		case c.isEnding():
			return
		case c.calm.Load() && c.chance(80):
			c.lineUp(waits)
		default:
			c.visit(waits)
		}
	}
}

// lineUp waits for a lock for as long as it takes, does a little work, and gives it back.
func (c *caller) lineUp(waits context.Context) {
	do := history.Lock
	if c.chance(25) {
		do = history.RLock
	}
	holds, _ := c.take(waits, do)
	for _, hd := range holds {
		c.work(hd)
		c.leave(hd)
	}
}

// visit asks for something, does something under it, and gives it back.
func (c *caller) visit(waits context.Context) {
	c.tree = nil
	if c.chance(50) {
		c.tree = redlock.WithOwner(waits)
		waits = c.tree
	}
	do := c.kind()
	ctx, cancel := within(waits, c.bound(do))
	defer cancel()
	holds, unlockAll := c.take(ctx, do)
	if len(holds) == 0 {
		return
	}
	c.stayIn(holds)
	switch {
	case c.isEnding() && c.chance(30):
		c.left = append(c.left, holds...)
	case unlockAll != nil && c.chance(60):
		c.leaveAll(holds, unlockAll)
	default:
		for _, hd := range holds {
			c.leave(hd)
		}
	}
}

// bound is how long a call may take; 0: as long as it needs. A call that does not wait ends by itself, but is sometimes
// given a bound as well.
func (c *caller) bound(do history.Do) time.Duration {
	if do.Waits() || c.chance(10) {
		return c.patience()
	}
	return 0
}

// within returns a context that ends with ctx, and after d if that is not 0.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// take makes a call and returns the holds that it was granted. If it asked for several names, unlockAll unlocks all.
func (c *caller) take(ctx context.Context, do history.Do) (got []*held, unlockAll func(context.Context) error) {
	e := history.Event{Do: do, Names: c.namesFor(do)}
	if do == history.Acquire || do == history.TryAcquire {
		e.Permits = permits
	}
	_ = c.call(ctx, e, func(call int, _ *history.Event) error {
		holds, unlock, err := c.ask(context.WithValue(ctx, number{}, call), do, e.Names)
		if err != nil {
			return err
		}
		unlockAll = unlock
		for _, h := range holds {
			got = append(got, c.granted(call, h, do == history.RLock || do == history.TryRLock))
		}
		return nil
	})
	return got, unlockAll
}

// number is the key of the context value that is the call's number in the history.
type number struct{}

// CallOf returns the number of the call whose context ctx is, 0 if it is none's.
func CallOf(ctx context.Context) int {
	call, _ := ctx.Value(number{}).(int)
	return call
}

// namesFor returns what a call of kind do asks for.
func (c *caller) namesFor(do history.Do) []string {
	switch do {
	case history.LockAll:
		return c.names()
	case history.Acquire, history.TryAcquire:
		return []string{semaphore}
	case history.RLock, history.TryRLock:
		return []string{readWrite}
	}
	if c.chance(25) {
		return []string{readWrite}
	}
	return []string{c.name()}
}

// ask is the call itself.
func (c *caller) ask(ctx context.Context, do history.Do, names []string) ([]Hold, func(context.Context) error, error) {
	lease := time.Duration(0)
	if do == history.LockFor {
		lease = c.between(c.cfg.Lease/2, c.cfg.MaxLease)
	}
	return c.locker.Ask(ctx, do, names, lease, permits)
}

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
