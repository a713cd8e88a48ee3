package redlock_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
)

// caller is a goroutine that locks and unlocks in every way there is, until the faults are over.
type caller struct {
	*sim
	c *simClient
	dice
	over func() bool
}

// simHeld is a hold as the history has it.
type simHeld struct {
	*redlock.Hold
	number int
	over   bool // it was given back; guarded by sim.mu
}

// drawCalls has callers call in every way there is, or in a third of the seeds in one to three ways, but often.
func drawCalls(d dice) []history.Do {
	all := []history.Do{
		history.TryLock, history.LockFor, history.Lock, history.Lock, history.Lock, history.RLock, history.RLock,
		history.TryRLock, history.Acquire, history.Acquire, history.TryAcquire, history.LockAll,
	}
	if d.oneIn(3) {
		d.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:1+d.IntN(3)]
	}
	return all
}

func (c *caller) run() {
	for !c.over() && !c.vanished(c.c) {
		time.Sleep(c.upTo(c.think))
		do := c.calls[c.IntN(len(c.calls))]
		names := []string{c.names[c.IntN(len(c.names))]}
		switch do {
		case history.Acquire, history.TryAcquire:
			names[0] = semaphore
		case history.LockAll:
			names = []string{c.names[0], c.names[len(c.names)-1]}
		}
		wait := c.upTo(c.waits)
		if c.oneIn(8) && do.Waits() && c.end > 0 {
			wait = 0 // for as long as it takes: faults end
		}
		all, err := c.take(do, names, wait)
		if err != nil {
			continue
		}
		for _, hold := range all {
			c.use(hold)
		}
		for _, hold := range all {
			c.alive(c.c, hold)
			_ = c.unlock(hold, c.upTo(2*c.timeout)+1)
		}
	}
}

// take asks for names, for up to wait, or for as long as it takes if that is 0.
func (c *caller) take(do history.Do, names []string, wait time.Duration) (all []*simHeld, err error) {
	err = c.within(context.Background(), wait, history.Event{Do: do, Names: names}, func(ctx context.Context, call int) error {
		holds, _, err := workload.Ask(ctx, c.c.Client, do, names, c.long/2, c.c.permits)
		for _, hold := range holds {
			all = append(all, c.granted(c.c, call, hold))
		}
		return err
	})
	c.expectKind(do, err, redlock.ErrTaken, redlock.ErrNoQuorum, context.DeadlineExceeded)
	return all, err
}

// use works under a hold, and enters it again, extends it, or becomes a reader.
func (c *caller) use(h *simHeld) {
	c.work(h)
	switch way := c.IntN(5); {
	case way == 0 && h.Name() != semaphore:
		c.enter(h)
		c.work(h) // one level is left
	case way == 1 && h.Name() != semaphore && !h.Shared():
		_ = c.bounded(h, history.Downgrade, 2*c.timeout, h.Downgrade)
		c.work(h)
	case way == 2:
		_ = c.bounded(h, history.Extend, 2*c.timeout, func(ctx context.Context) error { return h.Extend(ctx, c.lease) })
	}
}

// work keeps a hold for a while, mostly a short one, and sometimes longer than a lease; and writes to its
// registers.
func (c *caller) work(h *simHeld) {
	c.write(c, h)
	most := c.think / 2
	if c.oneIn(4) {
		most = c.long * 3 / 2
	}
	select {
	case <-time.After(c.upTo(most)):
	case <-h.Context().Done():
	}
	if c.oneIn(2) {
		c.write(c, h)
	}
}

// enter enters a hold again, and leaves it.
func (c *caller) enter(h *simHeld) {
	inner := &simHeld{number: h.number}
	e := history.Event{Do: history.Enter, Hold: h.number, Names: []string{h.Name()}}
	err := c.within(h.Context(), 200*time.Millisecond, e, func(ctx context.Context, _ int) (err error) {
		inner.Hold, err = h.Enter(ctx)
		return err
	})
	if err == nil {
		c.work(inner)
		_ = c.bounded(h, history.Leave, 2*c.timeout, inner.Unlock)
	}
}

// unlock gives a hold back.
func (c *caller) unlock(h *simHeld, bound time.Duration) error {
	c.mu.Lock()
	h.over = true
	c.mu.Unlock()
	err := c.bounded(h, history.Unlock, bound, h.Unlock)
	c.expectKind(history.Unlock, err, redlock.ErrLost, redlock.ErrNoQuorum, redlock.ErrNotAwaited)
	check.That(c.t, h.Context().Err() != nil, "the context of %s goes on after Unlock", h.Owner())
	return err
}

// expectKind wants what a call returned to be of one of these kinds, which are documented, or nil.
func (c *caller) expectKind(do history.Do, err error, kinds ...error) {
	documented := slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
	if err != nil && !documented && !c.looksOld(err) && !c.vanished(c.c) {
		c.t.Errorf("%v: %s of %s = %v: an error of no kind that is documented", time.Since(c.start), do, c.c.who, err)
	}
}

// bounded is within for a call that is about a hold.
func (c *caller) bounded(h *simHeld, do history.Do, bound time.Duration, f func(context.Context) error) error {
	e := history.Event{Do: do, Hold: h.number, Names: []string{h.Name()}}
	return c.within(context.Background(), bound, e, func(ctx context.Context, _ int) error { return f(ctx) })
}

// within records a call of f, whose context ends after bound, unless that is 0. It must return then.
func (c *caller) within(ctx context.Context, bound time.Duration, e history.Event, f func(ctx context.Context, call int) error) error {
	begin := time.Now()
	if bound > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, bound)
		defer cancel()
		e.Deadline = begin.Sub(c.start) + bound
	}
	err := c.call(c.c, e, func(call int, _ *history.Event) error { return f(ctx, call) })
	if took := time.Since(begin); bound > 0 && took > bound+time.Millisecond {
		c.t.Errorf("%v: %s of %s took %v, with a context that ended after %v", time.Since(c.start), e.Do, c.c.who, took, bound)
	}
	return err
}
