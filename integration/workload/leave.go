package workload

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/redlock/internal/history"
)

// leave gives back all handles of a hold, mostly the last one first. Now and then it then uses a handle
// that it has given back, which must fail.
func (c *caller) leave(hd *held) {
	for range len(hd.handles) - 1 {
		i := len(hd.handles) - 1
		if c.chance(20) {
			i = 0
		}
		c.unlock(hd, i)
	}
	c.unlock(hd, 0)
	switch {
	case c.chance(4):
		hd.after(history.Unlock)
	case c.chance(4):
		hd.after(history.Extend)
	}
}

// unlock gives back handle number i, mostly with all the time that it takes.
func (c *caller) unlock(hd *held, i int) {
	ctx, cancel := c.unlocking()
	defer cancel()
	_ = hd.giveBack(ctx, i, func(h Hold) error { return h.Unlock(ctx) })
}

// unlocking returns the context of an unlock: mostly without an end, sometimes with one that is near, and
// sometimes one that has ended.
func (c *caller) unlocking() (context.Context, context.CancelFunc) {
	switch n := c.IntN(100); {
	case n < 5:
		return context.WithTimeout(context.Background(), 0)
	case n < 15:
		return within(context.Background(), c.between(time.Millisecond, 20*time.Millisecond))
	}
	return within(context.Background(), 0)
}

// leaveAll gives back several holds in one call. To the history it is a call for each.
func (c *caller) leaveAll(holds []*held, unlockAll func(context.Context) error) {
	ctx, cancel := c.unlocking()
	defer cancel()
	var from func(i int) error
	from = func(i int) error {
		if i == len(holds) {
			return unlockAll(ctx)
		}
		var all error
		_ = holds[i].giveBack(ctx, 0, func(Hold) error {
			all = from(i + 1)
			return part(all, holds[i].name)
		})
		return all
	}
	_ = from(0)
}

// part returns what an error that joins those of several names says of one of them. One that names none
// says the same of all, on its own or among others.
func part(err error, name string) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for _, one := range joined.Unwrap() {
		names := func(name string) bool { return strings.Contains(one.Error(), strconv.Quote(name)) }
		if names(name) || !slices.ContainsFunc(locks, names) {
			return one
		}
	}
	return nil
}

// after uses the handle that was unlocked last. Both unlocking it again and extending it must fail, as what
// nobody holds.
func (hd *held) after(do history.Do) {
	one, ctx := hd.top(), context.Background()
	act := one.Unlock
	if do == history.Extend {
		act = one.Extend
	}
	_ = hd.call(ctx, history.Event{Do: do, Hold: hd.number, Names: []string{hd.name}}, func(_ int, result *history.Event) error {
		err := act(ctx)
		result.Err = history.NotHeld
		if hd.classify(err) != history.NotHeld {
			result.Err, result.Text = history.Unknown, fmt.Sprintf("after Unlock it returned %v", err)
		}
		return err
	})
}
