package workload

import (
	"context"
	"errors"
	"time"

	"example.com/redlock/internal/history"
)

// look is how long a caller has a hold without looking whether it is valid, at most.
const look = 50 * time.Millisecond

// stayIn does under the holds what they were taken for, until it is done, one of them has ended, or no
// more calls are to begin.
func (c *caller) stayIn(holds []*held) {
	now := c.rec.Now()
	end := now + c.stay(c.cfg.Lease)
	if !c.workUnder(holds) {
		return
	}
	if len(holds) == 1 {
		c.useHold(holds[0])
	}
	for !c.isEnding() && c.rec.Now() < end {
		c.pause(min(look, end-c.rec.Now()))
		for _, hd := range holds {
			if !hd.alive() {
				return
			}
		}
		if c.chance(15) && !c.workUnder(holds) {
			return
		}
	}
}

// workUnder does a little work under each hold, and reports whether all were alive.
func (c *caller) workUnder(holds []*held) bool {
	for _, hd := range holds {
		if !c.work(hd) {
			return false
		}
	}
	return true
}

// useHold does to a hold what can be done to it.
func (c *caller) useHold(hd *held) {
	if c.chance(15) {
		c.extend(hd)
	}
	if c.chance(20) {
		c.enter(hd)
	}
	if c.chance(30) {
		c.downgrade(hd)
	}
}

// brief is how long an act on a hold may take. It may end before the act could be done.
func (c *caller) brief() (context.Context, context.CancelFunc) {
	return within(context.Background(), c.between(5*time.Millisecond, 5*time.Second))
}

func (c *caller) extend(hd *held) {
	ctx, cancel := c.brief()
	defer cancel()
	_ = c.call(ctx, history.Event{Do: history.Extend, Hold: hd.number, Names: []string{hd.name}}, func(int, *history.Event) error {
		return hd.top().Extend(ctx)
	})
}

// downgrade makes a writer of the name that has readers one of them.
func (c *caller) downgrade(hd *held) {
	if hd.name != readWrite || hd.shared {
		return
	}
	ctx, cancel := c.brief()
	defer cancel()
	hd.mu.Lock()
	hd.shared = true // whatever comes of it
	hd.mu.Unlock()
	_ = c.call(ctx, history.Event{Do: history.Downgrade, Hold: hd.number, Names: []string{hd.name}}, func(int, *history.Event) error {
		return hd.top().Downgrade(ctx)
	})
}

// errUpgraded is a mistake of a library that returned no error.
var errUpgraded = errors.New("a reader's hold was entered to write")

// enter locks the name of the hold again, as its owner. A reader that asks to write is to be refused. If
// the hold had ended, its owner is granted another, which is used and given back here.
func (c *caller) enter(hd *held) {
	if hd.slot > 0 {
		return
	}
	ctx := hd.top().Context()
	if c.tree != nil && c.chance(50) {
		ctx = c.tree
	}
	ctx, cancel := within(ctx, c.between(5*time.Millisecond, 2*time.Second))
	defer cancel()
	shared := hd.name == readWrite && c.chance(60)
	var other *held
	event := history.Event{Do: history.Enter, Hold: hd.number, Names: []string{hd.name}, Shared: shared}
	_ = c.call(ctx, event, func(call int, result *history.Event) error {
		again, same, err := hd.top().Enter(ctx, shared)
		switch {
		case err != nil:
			return err
		case !same:
			other = c.granted(call, again, shared)
			return nil
		}
		hd.add(again)
		if hd.shared && !shared {
			result.Err, result.Text = history.Unknown, errUpgraded.Error()
		}
		return nil
	})
	if other != nil {
		c.work(other)
		c.leave(other)
	}
}
