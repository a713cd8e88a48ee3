package workload

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

// caller is a goroutine that takes locks.
type caller struct {
	*Process
	draw
	tree context.Context // of this visit: it has an owner, or is nil
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
			do := history.Lock
			if c.chance(25) {
				do = history.RLock
			}
			_ = c.lineUp(waits, do)
		default:
			c.visit(waits)
		}
	}
}

// lineUp waits for what do asks for, does a little work, and gives it back.
func (c *caller) lineUp(waits context.Context, do history.Do) error {
	holds, _, err := c.take(waits, do)
	for _, hd := range holds {
		c.work(hd)
		err = hd.giveBack(context.Background(), 0, Hold.Unlock)
	}
	return err
}

// visit asks for something, does something under it, and gives it back.
func (c *caller) visit(waits context.Context) {
	c.tree = nil
	if c.chance(50) {
		c.tree = redlock.WithOwner(waits)
		waits = c.tree
	}
	do := c.kind(c.cfg.Only)
	ctx, cancel := within(waits, c.bound(do))
	defer cancel()
	holds, unlockAll, _ := c.take(ctx, do)
	if len(holds) == 0 {
		return
	}
	c.stayIn(holds)
	if unlockAll != nil && c.chance(60) {
		c.leaveAll(holds, unlockAll)
		return
	}
	for _, hd := range holds {
		c.leave(hd)
	}
}

// bound is how long a call may take; 0: as long as it needs. A call that does not wait ends by itself, but is sometimes
// given a bound as well.
func (c *caller) bound(do history.Do) time.Duration {
	unbound := 90
	if do.Waits() {
		unbound = 10
	}
	if c.chance(unbound) {
		return 0
	}
	return c.between(5*time.Millisecond, c.cfg.Waits)
}

// within returns a context that ends with ctx, and after d if that is not 0.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// take makes a call and returns the holds that it was granted. If it asked for several names, unlockAll unlocks all.
func (c *caller) take(ctx context.Context, do history.Do) (got []*held, unlockAll func(context.Context) error, err error) {
	e := history.Event{Do: do, Names: c.namesFor(do)}
	if do == history.Acquire || do == history.TryAcquire {
		e.Permits = c.cfg.Permits
	}
	err = c.call(ctx, e, func(call int, _ *history.Event) error {
		lease := time.Duration(0)
		if do == history.LockFor {
			lease = c.between(c.cfg.Lease/2, c.cfg.MaxLease)
		}
		holds, unlock, err := c.locker.Ask(context.WithValue(ctx, number{}, call), do, e.Names, lease, c.cfg.Permits)
		if err != nil {
			return err
		}
		unlockAll = unlock
		for _, h := range holds {
			got = append(got, c.granted(call, h, do == history.RLock || do == history.TryRLock))
		}
		return nil
	})
	return got, unlockAll, err
}

// number is the key of the context value that is the call's number in the history.
type number struct{}

// CallOf returns the number of the call whose context ctx is, 0 if it is none's.
func CallOf(ctx context.Context) int {
	call, _ := ctx.Value(number{}).(int)
	return call
}

// Semaphore is the name of the semaphore.
const Semaphore = "p"

// namesFor returns what a call of kind do asks for: of LockAll, two or more names in any order.
func (c *caller) namesFor(do history.Do) []string {
	all := c.cfg.Names
	switch do {
	case history.LockAll:
		names := make([]string, 2+c.IntN(len(all)-1))
		for i, of := range c.Perm(len(all))[:len(names)] {
			names[i] = all[of]
		}
		return names
	case history.Acquire, history.TryAcquire:
		return []string{Semaphore}
	case history.RLock, history.TryRLock:
		return all[:1]
	}
	return []string{all[c.IntN(len(all))]}
}

// draw is a caller's source of randomness.
type draw struct{ *rand.Rand }

// chance is true in percent of a hundred cases.
func (d draw) chance(percent int) bool { return d.IntN(100) < percent }

// between returns a duration from least to most, each order of magnitude as likely as another.
func (d draw) between(least, most time.Duration) time.Duration {
	return time.Duration(float64(least) * math.Exp(d.Float64()*math.Log(float64(most)/float64(least))))
}

// stay is how long a visit lasts: mostly a moment, sometimes longer than a lease.
func (c *caller) stay() time.Duration {
	if c.chance(c.cfg.Stays) {
		return c.between(60*time.Millisecond, 2*c.cfg.Lease)
	}
	return c.between(time.Millisecond, 60*time.Millisecond)
}

// think is the pause between two visits, mean on average.
func (d draw) think(mean time.Duration) time.Duration {
	return min(10*mean, time.Duration(d.ExpFloat64()*float64(mean)))
}

// kind draws what to ask for: of only some kinds, if there are any, the next one.
func (d draw) kind(only []history.Do) history.Do {
	for {
		n := d.IntN(totalOdds)
		for _, o := range odds {
			if n -= o.of; n < 0 && (only == nil || slices.Contains(only, o.do)) {
				return o.do
			}
		}
	}
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
